"""The model that users hold: its description, and what looks at it, draws it and closes its joints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fem_mbs.contracts import Node, NodeLike, Path, checked
from fem_mbs.contracts.arguments import Flags
from fem_mbs.elements.joints.lower_pairs import GeneralJoint
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS
from fem_mbs.initial.assembly import Assembly, assemble
from fem_mbs.model.check import Check, examine
from fem_mbs.model.description import ModelDescription
from fem_mbs.pictures import pictures
from fem_mbs.pictures.pictures import SIZE, SMALL, Size, View, page
from fem_mbs.system.system import System


class Model(ModelDescription):
    """A mechanical system in the making, in any consistent units; the docs and the examples use SI.

    Parameters
    ----------
    group : {"R3xSO3", "SE3"}
        Group of the coordinates of every node that does not choose its own.
    gravity : (3,)
        Acceleration of gravity in the world frame.

    Examples
    --------
    >>> import fem_mbs as mbs
    >>> from fem_mbs.elements import RigidBody, SphericalJoint
    >>> model = mbs.Model(gravity=(0, 0, -9.81))
    >>> bob = model.add_node((1, 0, 0), name="bob")
    >>> body = model.add(RigidBody(bob, mass=1.0, inertia=(0.01, 0.01, 0.01)))
    >>> pivot = model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)), name="pivot")
    >>> print(model)
    Model on R3xSO3 with gravity (0, 0, -9.81)
      2 nodes, 1 of them fixed: 6 degrees of freedom before constraints
      RigidBody: 1
      SphericalJoint: 1
      3 constraint equations: at least 3 degrees of freedom left
    """

    @checked
    def fix(self, node: NodeLike | Iterable[NodeLike], translation: Flags = True, rotation: Flags = True) -> None:
        """Hold the position and/or the rotation of a node where they are.

        Parameters
        ----------
        node : Node or list of Node
            What to hold, as a node or all those of an edge.
        translation, rotation : bool or (3,) of bool
            All directions, none, or some of them: along, and about, the axes x, y, z of the world. Where it is some, a
            joint with the ground holds them, :class:`~fem_mbs.elements.GeneralJoint`, also one of the model's: one turn
            that is held leaves those of a universal joint, whose second axis goes with the node.
            What is held already stays so.
        """
        if not isinstance(node, Node):
            for own in node:
                self.fix(own, translation, rotation)
            return
        self._own(node, "Model.fix")
        closed = np.array([np.broadcast_to(flags, 3) for flags in (translation, rotation)])
        name = f"hold of {node.name}"
        before = self[name] if name in self else None
        if closed.any() and isinstance(before, GeneralJoint) and before.nodes == (self.ground, node):
            closed |= np.reshape([motion in before.closes for motion in TRANSLATIONS + ROTATIONS], (2, 3))
        else:
            before = None
        whole = [bool(flags.all()) for flags in closed]
        if any(whole) or not closed.any():
            self.hold(node, whole[0], whole[1])
        if before is not None:
            self.remove(before)
        closed[[node.fixed_translation, node.fixed_rotation]] = False
        if closed.any():
            self.add(GeneralJoint(self.ground, node, *map(tuple, closed.tolist())), name=self._free_name(None, name))

    @checked
    def assemble(self, hold: NodeLike | Iterable[NodeLike] = ()) -> Assembly:
        """Close joints that are open as built, by the smallest change of positions and rotations; then velocities.

        The sum over nodes of ``|displacement|^2/extent^2 + angle^2`` is least. Beams move as they are, and are bent
        only where joints leave no other way: their shape without stress is the one in which they were made. Initial
        velocities that violate a joint or a drive are replaced as by :func:`fem_mbs.project_velocities`.

        Parameters
        ----------
        hold : Node or list of Node, optional
            Nodes to leave where they are, as those that are fixed.

        Returns
        -------
        Assembly
            What moved: a distance and an angle for each node; ``print`` shows a table.

        Raises
        ------
        ModelError
            If the joints cannot be closed: names those that stay open. The model is then as it was.
        """
        return assemble(self, [hold] if isinstance(hold, Node) else hold)

    @checked
    def plot(self, file: Path | None = None, *, size: Size = SIZE) -> View:
        """A picture of the model as built: nodes with their axes, bodies, sections, joints, springs, loads, names.

        Parameters
        ----------
        file : str or Path, optional
            Where to write it, such as "model.png".
        size : (int, int)
            Width and height in pixels.

        Returns
        -------
        View
            Shows itself in a notebook; ``show()`` opens a window, ``save(file)`` writes a file.

        Raises
        ------
        MissingPackageError
            If PyVista is not installed.
        """
        return pictures.saved(pictures.of_model(System(self), size), file)

    @checked
    def check(self) -> Check:
        """Look at the model as built: degrees of freedom, redundant equations, free motions, masses, what looks wrong.

        Wrong look joints whose frames do not meet, nodes that nothing uses or connects, motions without mass, numbers
        that are of other units, and beams of too few elements. Nothing is changed.

        Returns
        -------
        Check
            ``print`` shows it; ``check.ok`` is True if nothing looks wrong, ``check.findings`` lists what does.
        """
        return examine(self)

    def _repr_html_(self) -> str:
        heading, *lines = str(self).splitlines()
        rows = [line.strip().split(": ", 1) for line in lines]
        return page(rows, heading, lambda: self.plot(size=SMALL))

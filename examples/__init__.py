"""Scripts that model one thing each, compare it with references, and draw it when asked."""

import sys
from pathlib import Path

# scripts that are run alone find what they share beside them; those that are imported, too
sys.path.append(str(Path(__file__).parent))

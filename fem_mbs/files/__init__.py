"""Files in and out: ParaView, FMUs and stored runs."""

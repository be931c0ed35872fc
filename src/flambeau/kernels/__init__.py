"""A traced expression into a kernel's structure: no device, no fusion."""

"""What ops should compute, as plain formulas and loops, with no code of the package."""

"""64-bit integers and complex numbers into pairs of 32-bit words, before fusion. No device."""

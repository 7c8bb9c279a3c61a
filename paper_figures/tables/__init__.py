"""Tables 1 to 5 of the paper and the examples of Appendix H, one module each."""

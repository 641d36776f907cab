"""`python -m adcli` is the command `adcli`."""
from adcli.main import main

if __name__ == "__main__":
    main()

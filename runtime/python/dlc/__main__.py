from dlc.cli import main

main()

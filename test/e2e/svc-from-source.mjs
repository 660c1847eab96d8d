// Runs the program `svc` from this repository's sources.
import { main } from '@svc/kernel/cli'

process.exitCode = await main(process.argv.slice(2))

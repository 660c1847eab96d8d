// Runs a program while this process has almost no file descriptors left, and prints the error. Its own limit must be low.
import { closeSync, openSync } from 'node:fs'
import { SecretProgram } from '@svc/contracts'

const program = new SecretProgram({
  ...{ product: 'Strongbox', names: ['/bin/sh'], variables: [], environment: process.env },
  signal: new AbortController().signal
})
// Loads what the next run needs.
await program.run(['-c', 'exit 0'], {}, 60_000)
const descriptors: number[] = []
try {
  for (;;) descriptors.push(openSync('/dev/null', 'r'))
} catch {
  for (const descriptor of descriptors.splice(-2)) closeSync(descriptor)
}
const failure = await program.run(['-c', 'exit 0'], {}, 60_000).catch(({ code, message }) => ({ code, message }))
for (const descriptor of descriptors) closeSync(descriptor)
process.stdout.write(JSON.stringify(failure))

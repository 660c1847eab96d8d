// Starts a program while this process has no file descriptors left, and prints what it gets. Its own limit must be low.
import { closeSync, openSync } from 'node:fs'
import { startChild } from '@svc/contracts'

const descriptors: number[] = []
try {
  for (;;) descriptors.push(openSync('/dev/null', 'r'))
} catch {
  // None are left.
}
const child = startChild('true', [], { stdio: ['pipe', 'pipe', 'ignore', 'ignore', 'pipe'] })
child.stdin?.end('input')
let output = ''
child.stdout?.on('data', (chunk: Buffer) => {
  output += chunk.toString()
})
const { code } = await new Promise<NodeJS.ErrnoException>(resolve => child.once('error', resolve))
for (const descriptor of descriptors) closeSync(descriptor)
const streams = child.stdio.map(each => (each === null ? 'null' : typeof each))
process.stdout.write(JSON.stringify({ code, streams, output }))

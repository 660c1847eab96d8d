import { Writable } from 'node:stream'
import { newConnection } from './connection.ts'
import type { DaemonHub } from './hub.ts'

/**
 * The one peer on the standard streams. From now on only protocol lines reach standard output: whatever else is printed
 * goes to standard error.
 */
export function openStdio(): DaemonHub {
  const write = process.stdout.write.bind(process.stdout)
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, encoding, done) =>
      void write(chunk as string, encoding, error => done(error ?? null)),
    final: done => {
      process.stdout.write = write
      done()
    }
  })
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write
  const connection = newConnection(process.stdin, output)
  return { address: 'stdio', server: null, connections: new Set([connection]), arrived: [], owner: null }
}

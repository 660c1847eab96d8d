import { Writable } from 'node:stream'

const KEY = Symbol.for('svc.stdout')

/**
 * Returns the real standard output, for a protocol. From the first call on, all other output to stdout, such as a
 * plugin's stray `console.log`, goes to stderr. Further calls return the same stream.
 */
export function reservedStdout(): Writable {
  const holder = process as unknown as { [KEY]?: Writable }
  holder[KEY] ??= reserve()
  return holder[KEY]
}

function reserve(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout) as (chunk: unknown, encoding: unknown, done: unknown) => boolean
  // Write callbacks already report a closed pipe; without a listener the `error` event would crash the process.
  stdout.on('error', () => undefined)
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  const reserved = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      write(chunk, encoding, (error: Error | null | undefined) => done(error ?? null))
    }
  })
  // As above; standard output has the same error.
  reserved.on('error', () => undefined)
  return reserved
}

// Records of one process: secrets that it knew, and texts that left it. They are searched after the run, since another
// process, or a later call, may be the one that knows the secret.
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'

/** Minimum length of watched secrets in bytes. Shorter ones occur inside too many other words. */
export const MIN_SECRET_BYTES = 8
/** Maximum number of remembered digests. A text that is repeated after more other texts is recorded again. */
const MAX_DIGESTS = 200_000

export class Recorder {
  #descriptor
  #digests = new Set()
  /** Path of the test file, and name of the test, that runs now. */
  file = ''
  test = ''

  /** `folder` is the one of the scope: of a test process and its child processes. */
  constructor(folder) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const name = `${process.pid}-${threadId}-${randomBytes(4).toString('hex')}.records`
    this.#descriptor = openSync(join(folder, name), 'wx', 0o600)
  }

  /** Records a value that must not be found. `name` says where it comes from, without the value. */
  secret(name, value) {
    const bytes = Buffer.from(value)
    if (bytes.length < MIN_SECRET_BYTES || this.#isKnown(`secret ${name}`, bytes)) return
    this.#write({ kind: 'secret', name }, bytes)
  }

  /** Records random bytes, in the forms in which programs write them. */
  secretBytes(name, bytes) {
    for (const form of ['hex', 'base64', 'base64url']) this.secret(name, Buffer.from(bytes).toString(form))
  }

  /** Records what has left the process. `sink`: kind of the place; `place`: the place itself. */
  sink(sink, place, data) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    if (bytes.length < MIN_SECRET_BYTES || this.#isKnown(`${sink} ${place}`, bytes)) return
    this.#write({ kind: 'sink', sink, place }, bytes)
  }

  /** Records that `bytes` bytes were not recorded, because they exceed a limit. */
  skipped(place, bytes) {
    this.#write({ kind: 'skipped', place, skipped: bytes }, Buffer.alloc(0))
  }

  close() {
    closeSync(this.#descriptor)
  }

  #isKnown(place, bytes) {
    const digest = createHash('sha1').update(place).update('\0').update(bytes).digest('latin1')
    if (this.#digests.has(digest)) return true
    if (this.#digests.size >= MAX_DIGESTS) this.#digests.clear()
    this.#digests.add(digest)
    return false
  }

  // Synchronous and unbuffered, so that a process that is killed loses nothing.
  #write(head, bytes) {
    const { file, test } = this
    const line = Buffer.from(`${JSON.stringify({ ...head, file, test, bytes: bytes.length })}\n`)
    const whole = Buffer.concat([line, bytes])
    for (let at = 0; at < whole.length; ) at += write(this.#descriptor, whole, at)
  }
}

// The functions of node:fs before sinks replace them: records are no sink.
const write = writeSync.bind(null)

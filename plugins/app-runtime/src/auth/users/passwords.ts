import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { runErrors } from '../../errors.ts'

/** Cost of a new hash: 2^17 blocks of 1 KiB, which take 128 MiB and about half a second. */
const LOG_COST = 17
const BLOCK_SIZE = 8
const PARALLELISM = 1
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Maximum cost of a stored hash. */
const MAX_LOG_COST = 20

/** Hashes at the same time, and hashes that wait: more would take memory and threads that others need. */
const MAX_RUNNING = 2
const MAX_WAITING = 100

export const MIN_PASSWORD_CHARS = 8
/** Longer passwords are refused, since hashing them takes time before the limits apply. */
export const MAX_PASSWORD_CHARS = 1_000

/** `$scrypt$ln=17,r=8,p=1$salt$hash`, with base64 as in the PHC string format. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/

/** Hashes passwords with scrypt, two at a time, in the thread pool of Node. */
export class Passwords {
  readonly #logCost: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** `logCost`: a lower one is for tests. */
  constructor(logCost = LOG_COST) {
    this.#logCost = logCost
  }

  /** Returns the salted hash of a password. Throws `RUN_BUSY`. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const hash = await this.#derive(password, salt, HASH_BYTES, this.#logCost, BLOCK_SIZE, PARALLELISM)
    return `$scrypt$ln=${this.#logCost},r=${BLOCK_SIZE},p=${PARALLELISM}$${base64(salt)}$${base64(hash)}`
  }

  /**
   * Returns whether a password has this hash. Without a hash it takes as long, so that the time does not tell whether
   * there is a user. Throws `RUN_BUSY`.
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [, cost = '', size = '', parallelism = '', salt = '', hash = ''] =
      (stored === null ? null : FORM.exec(stored)) ?? []
    const expected = Buffer.from(hash, 'base64')
    const logCost = Number(cost)
    if (expected.length === 0 || logCost < 1 || logCost > MAX_LOG_COST) {
      await this.#derive(password, randomBytes(SALT_BYTES), HASH_BYTES, this.#logCost, BLOCK_SIZE, PARALLELISM)
      return false
    }
    const salted = Buffer.from(salt, 'base64')
    const actual = await this.#derive(password, salted, expected.length, logCost, Number(size), Number(parallelism))
    return timingSafeEqual(actual, expected)
  }

  async #derive(
    password: string,
    salt: Buffer,
    length: number,
    logCost: number,
    size: number,
    parallelism: number
  ): Promise<Buffer> {
    await this.#take()
    try {
      const N = 2 ** logCost
      return await derived(password.normalize('NFKC'), salt, length, {
        N,
        r: size,
        p: parallelism,
        maxmem: 2 * 128 * N * size
      })
    } finally {
      // The next one takes the place, so that no other gets in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  async #take(): Promise<void> {
    if (this.#running < MAX_RUNNING) {
      this.#running++
      return
    }
    if (this.#waiting.length >= MAX_WAITING) {
      throw runErrors.create('RUN_BUSY', 'too many passwords are being checked', { hint: 'try again later' })
    }
    await new Promise<void>(resolve => this.#waiting.push(resolve))
  }
}

function derived(password: string, salt: Buffer, length: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

/** Base64 without padding. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

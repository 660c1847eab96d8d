// Makes hashing passwords cheap in this process: hundreds of sign-ups would take minutes. Hashes still name the cost
// of the server.
import crypto, { type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const MAX_BLOCKS = 2 ** 10
const { scrypt } = crypto

type Scrypt = (
  password: string,
  salt: Buffer,
  length: number,
  options: ScryptOptions,
  callback: (error: Error | null, key: Buffer) => void
) => void

const cheap: Scrypt = (password, salt, length, { N = MAX_BLOCKS, ...options }, callback) =>
  scrypt(password, salt, length, { ...options, N: Math.min(N, MAX_BLOCKS) }, callback)

Object.assign(crypto, { scrypt: cheap })
syncBuiltinESMExports()

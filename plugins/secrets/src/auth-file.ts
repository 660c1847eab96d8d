import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { secretErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { changeFile } from './file-lock.ts'
import { writePrivateFile } from './private-file.ts'

/** Token of an entry whose secret is in the keyring. */
export const KEYRING_SENTINEL = '__secrets_keyring__'
/** Registry whose token may be in the plain file `auth_token`. */
export const PACKAGE_REGISTRY = 'packages'
const RIGHTS_OF_OTHERS = 0o077
const MAX_BYTES = 1_048_576

export interface RegistryEntry {
  readonly token: string
  readonly username?: string
}

type Json = Record<string, unknown>

/** The file `auth.json`: tokens of registries, with mode 0600. Methods throw `SEC_STORE_FAILED`. */
export class AuthFile {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Returns the entries by registry. Not an error: no file. */
  entries(): Map<string, RegistryEntry> {
    const { registries } = this.#read()
    return new Map(
      Object.entries((registries ?? {}) as Json).flatMap(([name, entry]) => {
        const { token, username } = (entry ?? {}) as Json
        if (typeof token !== 'string') return []
        return [[name, { token, ...(typeof username === 'string' ? { username } : {}) }] as const]
      })
    )
  }

  /** Sets an entry. Other entries and fields stay. */
  async set(registry: string, entry: RegistryEntry): Promise<void> {
    await changeFile(this.path, () => {
      const content = this.#read()
      const registries = (content.registries ?? {}) as Json
      const before = (registries[registry] ?? {}) as Json
      const next = { ...content, registries: { ...registries, [registry]: { ...before, ...entry } } }
      writePrivateFile(this.path, `${JSON.stringify(next, null, 2)}\n`)
    })
  }

  /** Returns the token of the file `auth_token` next to this one; null without one. */
  legacyToken(): string | null {
    const text = this.#text(this.legacyPath)?.trim() ?? ''
    return text === '' ? null : text
  }

  removeLegacyToken(): void {
    rmSync(this.legacyPath, { force: true })
  }

  get legacyPath(): string {
    return join(dirname(this.path), 'auth_token')
  }

  /** Returns warnings about the permissions of both files. */
  warnings(): string[] {
    if (process.platform === 'win32') return []
    return [this.path, this.legacyPath].flatMap(path => {
      const mode = statSync(path, { throwIfNoEntry: false })?.mode
      if (mode === undefined || (mode & RIGHTS_OF_OTHERS) === 0) return []
      return [`other users may read ${path}; run: chmod 600 ${path}`]
    })
  }

  #read(): Json {
    const text = this.#text(this.path)
    if (text === null) return {}
    let content: unknown
    try {
      content = JSON.parse(text)
    } catch {
      // The parser's message would quote the text.
      throw this.#invalid('not valid JSON')
    }
    if (!isTable(content)) throw this.#invalid('not a JSON object')
    if (content.registries !== undefined && !isTable(content.registries))
      throw this.#invalid('registries is not an object')
    return content
  }

  #text(path: string): string | null {
    try {
      const stats = statSync(path)
      if (stats.size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`)
      return readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw secretErrors.create('SEC_STORE_FAILED', `${path}: ${errorMessage(error)}`, {
        at: { file: path },
        hint: 'correct the permissions of the file',
        cause: error
      })
    }
  }

  #invalid(why: string): Error {
    return secretErrors.create('SEC_STORE_FAILED', `${this.path}: ${why}`, {
      at: { file: this.path },
      hint: 'correct the file, or move it away and log in again'
    })
  }
}

function isTable(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

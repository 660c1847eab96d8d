import { rmSync } from 'node:fs'
import { normalizeControlUrl } from '@svc/contracts'
import { defined, errorMessage, parseStrictJson, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { meshPluginErrors } from './errors.ts'
import { readPrivateFile, stampOf, writePrivateFile } from './private-file.ts'

/** Access of a project to its mesh, which `svc mesh join` and `svc mesh up` store. */
export interface Membership {
  readonly controlUrls: readonly string[]
  readonly token: string | null
  readonly scopeId: string | null
}

const checkFile = schemaCheck(
  t.object({
    control_urls: t.array(t.string({ minLength: 1 }), { minItems: 1, maxItems: 64 }),
    token: t.optional(t.string({ minLength: 1, pattern: '^\\S+$' })),
    scope_id: t.optional(t.string({ minLength: 1, maxLength: 128 }))
  })
)

/** File with the membership of a project, readable only by its user. Changes by other processes are noticed. */
export class MembershipFile {
  readonly path: string
  #stamp: string | null = null
  #read: Membership | null = null

  constructor(path: string) {
    this.path = path
  }

  /** Null if the project has not joined a mesh. Throws `MSP_FILE_UNREADABLE`. */
  get(): Membership | null {
    const stamp = stampOf(this.path)
    if (stamp !== this.#stamp) {
      this.#read = stamp === null ? null : parse(this.path, readPrivateFile(this.path))
      this.#stamp = stamp
    }
    return this.#read
  }

  set({ controlUrls, token, scopeId }: Membership): void {
    const content = defined({
      control_urls: controlUrls,
      token: token ?? undefined,
      scope_id: scopeId ?? undefined
    })
    writePrivateFile(this.path, `${JSON.stringify(content, null, 2)}\n`)
  }

  /** Returns whether there was a membership. */
  remove(): boolean {
    const existed = stampOf(this.path) !== null
    rmSync(this.path, { force: true })
    return existed
  }
}

function parse(path: string, text: string | null): Membership | null {
  if (text === null) return null
  let content: unknown
  try {
    content = parseStrictJson(text)
  } catch (error) {
    throw unreadable(path, `it is not JSON: ${errorMessage(error)}`)
  }
  const checked = checkFile(content)
  if (!checked.ok) throw unreadable(path, checked.text)
  const { control_urls, token = null, scope_id = null } = checked.value
  return { controlUrls: control_urls.map(normalizeControlUrl), token, scopeId: scope_id }
}

function unreadable(path: string, why: string): Error {
  return meshPluginErrors.create('MSP_FILE_UNREADABLE', `${path}: ${why}`, {
    at: { file: path },
    hint: 'remove the file, and join the mesh again: svc mesh join URL --bootstrap TOKEN'
  })
}

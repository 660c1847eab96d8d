import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv } from 'ajv'
import type { Test } from 'tap'

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

interface Recording {
  readonly openapi: {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: unknown }>>>>
    readonly components: { readonly schemas: Readonly<Record<string, object>> }
  }
  readonly answers: Readonly<Record<string, Answer>>
}

/** Description and answers of an OpenBao server; see the field `source`. */
export const RECORDING: Recording = JSON.parse(
  readFileSync(new URL('fixtures/openbao-2.7.2.json', import.meta.url), 'utf8')
)

export type Fault = 'none' | 'hang' | 'sealed' | 'redirect' | 'text' | 'huge' | 'drop'
export const FAULTS: readonly Fault[] = ['hang', 'sealed', 'redirect', 'text', 'huge', 'drop']

/**
 * Starts a server that gives the recorded answers. A request that the recorded OpenAPI document does not describe fails
 * the test at its end.
 */
export async function startServer(t: Test) {
  const state = {
    tokens: new Set(['root-token']),
    /** Fields by path, as the engine KV version 2 has them. */
    secrets: new Map<string, object>([['secret/data/svc', { A: 'swordfish', number: 7 }]]),
    logins: 0,
    seen: [] as string[],
    fault: 'none' as Fault
  }
  const violations: string[] = []
  const send = (res: ServerResponse, { status, body }: Answer): void => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const recorded = (name: string): Answer => {
    const answer = RECORDING.answers[name]
    if (answer === undefined) throw new Error(`no answer ${name} was recorded`)
    return structuredClone(answer)
  }
  const respond = (path: string, token: string, body: Record<string, unknown>): Answer => {
    if (path === 'auth/approle/login') {
      if (body.role_id !== 'role' || body.secret_id !== 'secret-id') return recorded('wrong_credentials')
      const answer = recorded('login')
      const issued = `approle-${++state.logins}`
      state.tokens.add(issued)
      Object.assign(answer.body.auth as object, { client_token: issued })
      return answer
    }
    if (!state.tokens.has(token)) return recorded('invalid_token')
    if (path.startsWith('none/')) return recorded('unknown_mount')
    if (path.startsWith('secret/') && !path.startsWith('secret/data/')) return recorded('kv1_request_to_kv2')
    const fields = state.secrets.get(path)
    if (fields === undefined) return recorded('unknown_path')
    const answer = recorded(path.startsWith('one/') ? 'read_kv1' : 'read_kv2')
    const place = path.startsWith('one/') ? answer.body : (answer.body.data as Record<string, unknown>)
    place.data = fields
    return answer
  }
  const server = createServer(async (req, res) => {
    const path = (req.url ?? '').replace('/v1/', '')
    const body = await read(req)
    state.seen.push(`${req.method} ${path} ${req.headers['x-vault-namespace'] ?? ''}`.trim())
    const violation = violationOf(String(req.method), `/${path}`, body)
    if (violation !== null) violations.push(violation)
    if (req.headers['x-vault-request'] !== 'true') violations.push(`${path}: without the header x-vault-request`)
    const { fault } = state
    if (fault === 'hang') return
    if (fault === 'drop') return void req.socket.destroy()
    if (fault === 'sealed') return send(res, recorded('sealed'))
    if (fault === 'redirect') return void res.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()
    if (fault === 'text') return void res.end('<html>')
    if (fault === 'huge') return void res.end('x'.repeat(3_000_000))
    send(res, respond(path, String(req.headers['x-vault-token']), JSON.parse(body || '{}')))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  t.teardown(() => {
    if (violations.length > 0) throw new Error(`not described by the OpenAPI document: ${violations.join('; ')}`)
  })
  return { state, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const schemas = new Ajv({ strict: false })

/** Returns how a request differs from the OpenAPI document; null if it does not. */
function violationOf(method: string, path: string, body: string): string | null {
  const { paths, components } = RECORDING.openapi
  const found = Object.entries(paths).find(([template]) => patternOf(template).test(path.replace(/\?.*$/, '')))
  const operation = found?.[1][method.toLowerCase()]
  if (operation === undefined) return `${method} ${path} is not described`
  if (operation.requestBody === undefined) return body === '' ? null : `${method} ${path} has a body`
  const isValid = schemas.compile({ ...components.schemas.AppRoleLoginRequest, additionalProperties: false })
  return isValid(JSON.parse(body)) ? null : `${method} ${path}: ${schemas.errorsText(isValid.errors)}`
}

/** Returns the pattern of a path template. Mounts have one segment here, and the path of a secret has any number. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace('{path}', '[^?#]+').replaceAll(/\{\w+\}/g, '[^/?#]+')}$`)
}

async function read(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

import type { DatabaseStore } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { type ApiKey, ApiKeys } from './api-keys.ts'
import type { EndedIdentities } from './ended-identities.ts'

const { RUN_TOKEN_UNKNOWN } = runErrors.specs

const MAX_TEXTS = 100
/** A hundred years. */
const MAX_DAYS = 36_500
const DAY_MS = 86_400_000
const texts = (description: string) =>
  t.array(t.string({ minLength: 1, maxLength: 200 }), { default: [], maxItems: MAX_TEXTS, description })

const key = {
  id: t.string({ description: 'Id of the key, for svc auth token revoke.' }),
  subject: t.string(),
  roles: t.array(t.string()),
  scopes: t.array(t.string()),
  created_at: t.string({ format: 'date-time' }),
  expires_at: t.nullable(t.string({ format: 'date-time' }))
}

export const tokenCreate = defineOperation({
  id: 'auth.token.create',
  summary: 'Create an API key for functions with @auth',
  input: t.object({
    subject: t.string({ minLength: 1, maxLength: 200, description: 'Id of the callers who use the key.' }),
    roles: texts('Roles of the key, as in @role("admin").'),
    scopes: texts('Scopes of the key, as in @auth("users.read").'),
    days: t.optional(
      t.number({ minimum: 0, maximum: MAX_DAYS, description: 'Days until the key expires; default: it does not.' })
    )
  }),
  output: t.object({
    ...key,
    token: t.string({ description: 'The key, which is not stored and cannot be shown again.' }),
    text: t.string()
  }),
  effect: 'write',
  expose: { rpc: true, cli: { command: 'auth token create', view: { text: 'text' } } }
})

export const tokenList = defineOperation({
  id: 'auth.token.list',
  summary: 'List API keys without their text, newest first',
  input: t.object({}),
  output: t.object({ tokens: t.array(t.object(key)) }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: {
      command: 'auth token list',
      view: { rows: 'tokens', columns: ['id', 'subject', 'roles', 'scopes', 'created_at', 'expires_at'] }
    }
  }
})

export const tokenRevoke = defineOperation({
  id: 'auth.token.revoke',
  summary: 'Revoke an API key, which stops working within 2 seconds',
  input: t.object({ id: t.string({ minLength: 1, maxLength: 200, description: 'Id, as in auth token list.' }) }),
  output: t.object({ id: t.string(), text: t.string() }),
  errors: { RUN_TOKEN_UNKNOWN },
  effect: 'destructive',
  expose: { rpc: true, cli: { command: 'auth token revoke', args: ['id'], view: { text: 'text' } } }
})

export const tokenOperations = [tokenCreate, tokenList, tokenRevoke]

/** Opens the database with the API keys of the program. */
export type OpenStore = () => Promise<Pick<DatabaseStore, 'query' | 'execute'>>

export function createHandler(open: OpenStore): Handler<typeof tokenCreate> {
  return async ({ subject, roles, scopes, days }) => {
    const expiresAtMs = days === undefined ? null : Math.round(Date.now() + days * DAY_MS)
    const made = await new ApiKeys(await open()).create({ subject, roles, scopes, expiresAtMs })
    const text = `${made.text}\nThis is the only time that the key ${made.id} is shown.`
    return { ...shown(made), token: made.text, text }
  }
}

export function listHandler(open: OpenStore): Handler<typeof tokenList> {
  return async () => ({ tokens: (await new ApiKeys(await open()).list()).map(shown) })
}

export function revokeHandler(open: OpenStore, ended: EndedIdentities): Handler<typeof tokenRevoke> {
  return async ({ id }) => {
    await new ApiKeys(await open()).revoke(id)
    ended.end(({ claims }) => claims.key === id)
    return { id, text: `revoked the API key ${id}` }
  }
}

function shown({ id, subject, roles, scopes, createdAtMs, expiresAtMs }: ApiKey) {
  return {
    id,
    subject,
    roles: [...roles],
    scopes: [...scopes],
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString()
  }
}

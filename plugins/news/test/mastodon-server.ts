import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const MASTODON_TOKEN = 'mastodon-access-token-1'

export interface StoredStatus {
  readonly id: string
  readonly text: string
  readonly visibility: string
  readonly created_at: string
  readonly url: string
}

/**
 * Speaks the API of Mastodon as documented at https://docs.joinmastodon.org/methods/statuses/ (create, with
 * Idempotency-Key; source) and …/methods/accounts/ (verify_credentials, statuses), with the types of npm masto 7.12.0.
 */
export async function openMastodon(t: Test, settings: object = {}) {
  const statuses: StoredStatus[] = []
  const keys = new Map<string, StoredStatus>()
  const service = await openService(t, request => {
    if (request.headers.authorization !== `Bearer ${MASTODON_TOKEN}`)
      return { status: 401, body: { error: 'The access token is invalid' } }
    if (request.method === 'POST' && request.path === '/api/v1/statuses') return create(request)
    if (request.path === '/api/v1/accounts/verify_credentials') return { body: { id: '14715', username: 'news' } }
    if (request.path === '/api/v1/accounts/14715/statuses') {
      const limit = Number(request.query.get('limit'))
      if (!(limit >= 1 && limit <= 40)) return { status: 422 }
      return { body: [...statuses].reverse().slice(0, limit).map(entity) }
    }
    const id = /^\/api\/v1\/statuses\/(\d+)\/source$/.exec(request.path)?.[1]
    const found = statuses.find(each => each.id === id)
    return found === undefined ? undefined : { body: { id, text: found.text, spoiler_text: '' } }
  })
  const create = (request: SeenRequest): ServiceAnswer => {
    if (request.headers['content-type'] !== 'application/json') return { status: 415 }
    const key = request.headers['idempotency-key'] ?? ''
    const earlier = keys.get(key)
    if (earlier !== undefined) return { body: entity(earlier) }
    const { status: sent, visibility } = request.json()
    const text = typeof sent === 'string' ? sent.trim() : ''
    if (text === '') return { status: 422, body: { error: "Validation failed: Text can't be blank" } }
    const id = String(103_254_962_155_278_888n + BigInt(statuses.length))
    const url = `https://mastodon.example/@news/${id}`
    const status = { id, text, visibility, created_at: new Date().toISOString(), url }
    statuses.push(status)
    if (key !== '') keys.set(key, status)
    return { body: entity(status) }
  }
  const { channel } = await openChannels(t, {
    settings: { mastodon_access_token: MASTODON_TOKEN, mastodon_base_url: service.url, ...settings }
  })
  return { service, statuses, keys, mastodon: channel('mastodon') }
}

/** The content of the entity is HTML. */
function entity({ text, ...status }: StoredStatus): object {
  return { ...status, content: `<p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`, reblog: null }
}

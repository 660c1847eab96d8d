import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type ServiceAnswer } from './service-server.ts'

const TOKEN = 'open-collective-token-1'

/**
 * Speaks the GraphQL API v2 of Open Collective as in opencollective/opencollective-api:
 * server/graphql/schemaV2.graphql (account.updates), v2/mutation/UpdateMutations.js, v2/input/UpdateCreateInput.js and
 * v2/query/UpdateQuery.ts.
 */
export async function openCollective(t: Test) {
  const updates: { id: string; slug: string; html: string; publishedAt: string | null; [more: string]: unknown }[] = []
  const published: unknown[] = []
  const service = await openService(t, request => {
    if (request.path !== '/graphql/v2' || request.method !== 'POST') return undefined
    if (request.headers['personal-token'] !== TOKEN)
      return { body: { data: null, errors: [{ message: 'no', extensions: { code: 'Unauthorized' } }] } }
    const { query, variables } = request.json()
    const name = /^\w+ (\w+)/.exec(query)?.[1]
    if (name === 'CreateUpdate') return create(variables.update)
    if (name === 'ListUpdates') return { body: { data: { account: { updates: { nodes: updates.toReversed() } } } } }
    const update = updates.find(({ id }) => id === variables.id) ?? null
    if (name === 'ReadUpdate') return { body: { data: { update } } }
    if (name === 'PublishUpdate' && update !== null) {
      published.push({ ...variables, audience: /notificationAudience: (\w+)/.exec(query)?.[1] })
      update.publishedAt = '2026-03-01T10:00:00Z'
      return { body: { data: { publishUpdate: update } } }
    }
    return { status: 400, body: { errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] } }
  })
  const create = (update: { title?: unknown; html?: unknown; account?: { slug?: unknown } }): ServiceAnswer => {
    if (typeof update.title !== 'string' || update.account?.slug !== 'acme')
      return { status: 400, body: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] } }
    const entry = {
      ...update,
      html: String(update.html),
      id: `update-${updates.length + 1}`,
      slug: 'svc-2',
      publishedAt: null,
      createdAt: new Date().toISOString()
    }
    updates.push(entry)
    return { body: { data: { createUpdate: entry } } }
  }
  const { channel } = await openChannels(t, {
    settings: { open_collective_token: TOKEN, open_collective_slug: 'acme', open_collective_api_base: service.url }
  })
  return { service, updates, published, collective: channel('open_collective') }
}

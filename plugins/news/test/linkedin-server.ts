import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const TOKEN = 'linkedin-access-token-1'
const AUTHOR = 'urn:li:organization:5515715'

/**
 * Speaks the Posts API of LinkedIn as documented at
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api (create, finder by author) and
 * …/shares/little-text-format. The duplicate answer is the one of the production API: 422, DUPLICATE_POST.
 */
export async function openLinkedIn(t: Test) {
  const posts: Record<string, unknown>[] = []
  const service = await openService(t, request => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return { status: 401, body: { status: 401, serviceErrorCode: 65_600, code: 'INVALID_ACCESS_TOKEN' } }
    if (!/^\d{6}$/.test(request.headers['linkedin-version'] ?? ''))
      return { status: 400, body: { status: 400, code: 'VERSION_MISSING' } }
    if (request.headers['x-restli-protocol-version'] !== '2.0.0') return { status: 400 }
    if (request.path !== '/rest/posts') return undefined
    return request.method === 'POST' ? create(request) : find(request)
  })
  const create = (request: SeenRequest): ServiceAnswer => {
    const body = request.json()
    if (request.headers['content-type'] !== 'application/json') return { status: 415 }
    for (const field of ['author', 'commentary', 'visibility', 'distribution', 'lifecycleState'])
      if (body[field] === undefined) return { status: 422, body: { status: 422, code: 'MISSING_FIELD' } }
    const same = posts.find(each => each.commentary === body.commentary)
    if (same !== undefined)
      return {
        status: 422,
        body: { status: 422, code: 'DUPLICATE_POST', message: `Content is a duplicate of ${same.id}` }
      }
    const id = `urn:li:share:${7_000_000_000_000 + posts.length}`
    posts.push({ ...body, id, createdAt: Date.now() })
    return { status: 201, headers: { 'x-restli-id': id } }
  }
  const find = (request: SeenRequest): ServiceAnswer => {
    if (request.headers['x-restli-method'] !== 'FINDER' || request.query.get('q') !== 'author') return { status: 400 }
    const author = request.query.get('author')
    return { body: { elements: posts.filter(each => each.author === author), paging: { start: 0, count: 50 } } }
  }
  const { channel } = await openChannels(t, {
    settings: { linkedin_access_token: TOKEN, linkedin_author_urn: AUTHOR, linkedin_api_base: service.url }
  })
  return { service, posts, linkedin: channel('linkedin') }
}

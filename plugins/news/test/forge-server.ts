import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

const TOKEN = 'ghp_known-forge-token-1'

/**
 * Speaks the REST API of GitHub as in the types of its OpenAPI description (npm @octokit/openapi-types 29: repos/
 * create-release, repos/get-release-by-tag, issues/create, issues/create-comment, issues/list-for-repo), which Forgejo
 * and Gitea share (npm gitea-js 1.23: CreateReleaseOption, CreateIssueOption, CreateIssueCommentOption).
 */
export async function openForge(t: Test, { paged = true } = {}) {
  const releases: Record<string, unknown>[] = []
  const issues: Record<string, unknown>[] = []
  const comments: Record<string, unknown>[] = []
  const service = await openService(t, request => {
    if (request.headers.authorization !== `token ${TOKEN}`) return { status: 401, body: { message: 'Bad credentials' } }
    const path = request.path.replace('/repos/acme/tool', '')
    if (path === request.path) return undefined
    if (request.method === 'POST') return create(path, request)
    const tag = /^\/releases\/tags\/(.+)$/.exec(path)?.[1]
    if (tag !== undefined) {
      const found = releases.find(each => each.tag_name === decodeURIComponent(tag))
      return found === undefined ? undefined : { body: found }
    }
    if (path === '/issues' && request.query.get('state') === 'all') return list(issues, request)
    if (path === '/issues/7/comments') return list(comments, request)
    return undefined
  })
  const list = (entries: readonly unknown[], { query }: SeenRequest): ServiceAnswer => {
    if (Number.isNaN(Date.parse(query.get('since') ?? ''))) return { status: 422 }
    const size = Number(query.get('per_page'))
    const start = (Number(query.get('page')) - 1) * size
    return { body: paged ? entries.slice(start, start + size) : entries }
  }
  const create = (path: string, request: SeenRequest): ServiceAnswer => {
    const body = request.json()
    const target =
      path === '/releases' ? releases : path === '/issues' ? issues : path === '/issues/7/comments' ? comments : null
    if (target === null) return { status: 404 }
    const required = target === releases ? 'tag_name' : target === issues ? 'title' : 'body'
    if (typeof body[required] !== 'string') return { status: 422, body: { message: 'Validation Failed' } }
    if (target === releases && releases.some(each => each.tag_name === body.tag_name))
      return { status: 422, body: { message: 'Validation Failed', errors: [{ code: 'already_exists' }] } }
    const entry = { ...body, id: 100 + target.length, html_url: `https://github.com/acme/tool${path}/${target.length}` }
    target.push(entry)
    return { status: 201, body: entry }
  }
  const { channel } = await openChannels(t, { settings: { forge_token: TOKEN, forge_api_base: service.url } })
  return { service, releases, issues, comments, forge: channel('github') }
}

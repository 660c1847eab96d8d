import t from 'tap'
import { bearer, openWorld, READ, WRITE } from './world.ts'

/** Requested tools by name: the name under which each is listed, and whether the read role may use it. */
const TOOLS = {
  svc_cancel_task: { canonical: 'svc_cancel_task', eligible: false },
  svc_task_status: { canonical: 'svc_task_status', eligible: true },
  task_status: { canonical: 'svc_task_status', eligible: true },
  svc_level: { canonical: 'svc_rebalance', eligible: false },
  svc_submit_task: { canonical: 'svc_submit_task', eligible: false },
  svc_repo_status: { canonical: 'svc_repo_status', eligible: true },
  raw_picture: { canonical: 'raw_picture', eligible: false },
  svc_nothing: null
} as const

const LISTS = {
  'the default list': {
    settings: {},
    write: ['svc_cancel_task', 'svc_orchestrator_status', 'svc_rebalance', 'svc_task_status'],
    read: ['svc_orchestrator_status', 'svc_task_status']
  },
  'a list': {
    settings: { allowed_tools: ['svc_submit_task', 'task_status', 'svc_repo_status'] },
    write: ['svc_repo_status', 'svc_submit_task', 'svc_task_status'],
    read: ['svc_repo_status', 'svc_task_status']
  },
  'a list and one for the read role': {
    settings: {
      allowed_tools: ['svc_level', 'svc_task_status', 'raw_picture'],
      read_role_allowed_tools: ['task_status', 'svc_repo_status', 'svc_rebalance']
    },
    write: ['raw_picture', 'svc_rebalance', 'svc_task_status'],
    read: ['svc_task_status']
  },
  'empty lists': { settings: { allowed_tools: [], read_role_allowed_tools: [] }, write: [], read: [] }
} as const

const CALLERS = { none: {}, wrong: bearer(`${WRITE}x`), read: bearer(READ), write: bearer(WRITE) }
const ORIGINS = [
  { origin: undefined, passes: true },
  { origin: 'http://localhost:5173', passes: true },
  { origin: 'https://[::1]', passes: true },
  { origin: 'http://localhost.evil.example', passes: false },
  { origin: 'null', passes: false }
]
const PROTOCOLS = [undefined, 'https', 'http', 'http, https']

interface Answer {
  readonly status: number
  readonly body: unknown
}

for (const [name, { settings, write, read }] of Object.entries(LISTS)) {
  for (const require_forwarded_https of [false, true]) {
    t.test(`access to tools with ${name}${require_forwarded_https ? ' and HTTPS required' : ''}`, async t => {
      const world = await openWorld(t, { ...settings, require_forwarded_https })
      const seen = { none: [], wrong: [], read, write } as const

      /** Checks of the specification in order: origin, token, HTTPS, then the tool. */
      const expected = (
        caller: keyof typeof CALLERS,
        { passes }: (typeof ORIGINS)[number],
        proto: string | undefined,
        tool: keyof typeof TOOLS
      ): Answer => {
        if (!passes) return { status: 403, body: { error: 'origin_denied' } }
        if (caller === 'none' || caller === 'wrong') {
          return { status: 401, body: { error: 'missing or invalid bearer token' } }
        }
        if (require_forwarded_https && proto !== 'https') {
          return { status: 403, body: { error: 'https is required: the header X-Forwarded-Proto must say https' } }
        }
        const target = TOOLS[tool]
        const list: readonly string[] = seen[caller]
        if (target === null || !list.includes(target.canonical)) {
          const error = `unknown tool, or one that is not allowed here: ${tool}`
          return { status: 200, body: { success: false, is_error: true, result: { error } } }
        }
        const result =
          target.canonical === 'raw_picture'
            ? { content: [{ type: 'text', text: 'a picture' }] }
            : { success: true, data: { did: target.canonical.replace('svc_', ''), by: 'first' } }
        return { status: 200, body: { success: true, is_error: false, result } }
      }

      const wrong: unknown[] = []
      let callCount = 0
      for (const [caller, authorization] of Object.entries(CALLERS)) {
        for (const each of ORIGINS) {
          for (const proto of PROTOCOLS) {
            const headers = {
              ...authorization,
              ...(each.origin === undefined ? {} : { origin: each.origin }),
              ...(proto === undefined ? {} : { 'x-forwarded-proto': proto })
            }
            await Promise.all(
              Object.keys(TOOLS).map(async tool => {
                const response = await world.call(tool, {}, headers)
                const answer: Answer = { status: response.status, body: await response.json() }
                const expectedAnswer = expected(caller as never, each, proto, tool as never)
                callCount += 1
                if (JSON.stringify(answer) !== JSON.stringify(expectedAnswer))
                  wrong.push({ headers, tool, answer, want: expectedAnswer })
                if ((response.status === 401) !== (response.headers.get('www-authenticate') === 'Bearer')) {
                  wrong.push({ headers, tool, challenge: response.headers.get('www-authenticate') })
                }
              })
            )
          }
        }
      }
      t.same(wrong, [], `${callCount} calls have the expected result`)

      for (const [caller, list] of [
        ['read', read],
        ['write', write]
      ] as const) {
        const headers = { ...CALLERS[caller], 'x-forwarded-proto': 'https' }
        const { tools } = (await (await world.get('/v1/tools', headers)).json()) as { tools: { name: string }[] }
        t.same(
          tools.map(each => each.name),
          list,
          `tools that ${caller} sees`
        )
        t.match(await (await world.get('/v1/info', headers)).json(), {
          allowed_tools: write,
          read_role_allowed_tools: read,
          require_forwarded_https
        })
      }
    })
  }
}

t.test(
  'clients are distinguished by the peer address, or by the first forwarded address if that is trusted',
  async t => {
    for (const trust_x_forwarded_for of [false, true]) {
      const world = await openWorld(t, { rate_limit_per_minute: 2, trust_x_forwarded_for })
      const status = async (forwarded: string, authorization: object = bearer(WRITE)): Promise<number> => {
        const response = await world.get('/v1/tools', { ...authorization, 'x-forwarded-for': forwarded })
        if (response.status === 429) {
          t.same(await response.json(), { error: 'rate limit exceeded (max 2 requests/minute)' })
          t.equal(response.headers.get('retry-after'), '30')
        }
        return response.status
      }
      t.equal(await status('203.0.113.1', {}), 401, 'rejected requests are not counted')
      t.equal(await status('203.0.113.1'), 200)
      t.equal(await status('203.0.113.1, 198.51.100.7'), 200)
      t.equal(await status('203.0.113.1'), 429)
      t.equal(await status('198.51.100.7'), trust_x_forwarded_for ? 200 : 429)
      t.equal(await status('not an address'), trust_x_forwarded_for ? 200 : 429)
      t.equal(await status('2001:db8:1:2::1'), trust_x_forwarded_for ? 200 : 429)
      t.equal(await status('2001:db8:1:2:ffff::2'), trust_x_forwarded_for ? 200 : 429)
      t.equal(await status('[2001:db8:1:2::3]:443'), 429, 'addresses of one /64 share a limit')
      t.equal(await status('2001:db8:1:3::1'), trust_x_forwarded_for ? 200 : 429)
    }
  }
)

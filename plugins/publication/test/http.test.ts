import { type HttpServer, httpServer, type KernelPort, kernelPort } from '@svc/contracts'
import database from '@svc/plugin-database'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { normalisedName, systemUser } from '#root'

const ANN_TOKEN = 'the-token-of-ann-5512'
const BOB_TOKEN = 'the-token-of-bob-5513'

interface Answer {
  readonly status: number
  readonly body: any
}

/** Kernel in this process with the real HTTP server, and its callers. */
async function serve(t: Test, settings: object) {
  let server: { readonly current: HttpServer } | undefined
  let port: KernelPort | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), kernel: kernelPort },
    activate(_ctx, deps) {
      server = deps.server
      port = deps.kernel
    }
  })
  const kernel = await testKernel([http, database, plugin, probe] as Plugin[], {
    settings: { publication: settings, database: { path: 'store.db' }, http: { port: 0 } }
  })
  t.teardown(() => kernel.close())
  const url = server?.current.addresses.find(({ listener }) => listener === 'main')?.url
  const send = async (path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${url}/api/publications${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: answer.status, body: await answer.json() }
  }
  /** Calls as a surface does. */
  const callAs = (surface: string, id: string, input: object) =>
    (port as KernelPort).invoke(
      'publication.approve',
      { publication_id: 'study-1', ...input },
      {
        ...{ surface, principal: { id, role: 'owner', scopes: ['*'] } }
      }
    )
  return { callAs, send }
}

const CONTENT = { id: 'study-1', title: 'A study', author: 'Ann Example', abstract: 'Short.', body: '# Gates\n' }

t.test('a publication is prepared, checked, approved and revoked over HTTP', async t => {
  const { send } = await serve(t, {
    armed: true,
    dry_run: false,
    approvers: ['Ann', 'Bob'],
    approver_tokens: { Ann: ANN_TOKEN, Bob: BOB_TOKEN }
  })
  const { status, body: prepared } = await send('', CONTENT)
  t.match({ status, prepared }, { status: 200, prepared: { publication_id: 'study-1', state: 'draft', version: 1 } })
  const digest = prepared.content_sha3_256
  t.match(await send('?state=draft&limit=5'), { status: 200, body: { publications: [{ publication_id: 'study-1' }] } })
  t.match(await send('/study-1/preflight?profile=metadata_complete'), {
    status: 200,
    body: { ok: false, findings: [{ code: 'license_required' }] }
  })
  t.match(await send('/study-1/worthiness'), { status: 200, body: { score: null, decision: 'AskForEvidence' } })
  t.match(await send('/study-1/gate'), { status: 200, body: { open: false, codes: ['missing_dual_approval'] } })

  const approve = (body: object) => send('/study-1/approvals', { digest, ...body })
  t.match(await approve({ approver: 'Ann' }), { status: 403, body: { error: { code: 'PUB_TOKEN_REFUSED' } } })
  const wrong = await approve({ approver: 'Ann', approver_token: BOB_TOKEN })
  t.match(wrong, { status: 403, body: { error: { code: 'PUB_TOKEN_REFUSED' } } })
  t.notMatch(JSON.stringify(wrong), BOB_TOKEN)
  t.match(await approve({}), { status: 403, body: { error: { code: 'PUB_APPROVER_UNKNOWN' } } })
  t.match(await approve({ approver: 'Ann', approver_token: ANN_TOKEN }), {
    status: 200,
    body: { missing_approvals: 1 }
  })
  t.match(await approve({ approver: 'Bob', approver_token: BOB_TOKEN }), { status: 200, body: { state: 'approved' } })
  t.match(await send('/study-1/gate'), { status: 200, body: { open: true, codes: [], approvers: ['ann', 'bob'] } })
  const shown = await send('/study-1?body=true')
  t.match(shown, { status: 200, body: { publication: { body_markdown: '# Gates\n' }, missing_approvals: 0 } })
  t.match(shown.body.text, /\nabstract {2}Short\.\n\n# Gates$/, 'all of the content can be read')
  t.equal(new Set(shown.body.events.map(({ id }: { id: number }) => id)).size, shown.body.events.length)
  const revoked = await send('/study-1/revocations', { digest, approver: 'Bob', approver_token: BOB_TOKEN })
  t.match(revoked, { status: 200, body: { revoked: true, state: 'draft' } })

  await send('', { ...CONTENT, body: '# Gates, again\n' })
  t.match(await approve({ approver: 'Ann', approver_token: ANN_TOKEN }), {
    status: 409,
    body: { error: { code: 'PUB_DIGEST_CHANGED' } }
  })
  t.match(await send(`/study-1/diff?since=${digest}`), { status: 200, body: { text: /\+# Gates, again/ } })
  t.match(await send('/unknown'), { status: 404, body: { error: { code: 'PUB_UNKNOWN' } } })
  t.match(await send('/study-1/approvals', { digest: 'short' }), { status: 400 })
})

t.test('one person does not open the gate by two names over HTTP, RPC, MCP or the console', async t => {
  const { callAs, send } = await serve(t, { armed: true, dry_run: false })
  const { content_sha3_256: digest } = (await send('', CONTENT)).body
  t.match(await send('/study-1/approvals', { digest }), { status: 200, body: { missing_approvals: 1 } })
  for (const approver of ['Bob', 'Carol', systemUser()]) {
    t.match(
      await send('/study-1/approvals', { digest, approver }),
      { status: 403, body: { error: { code: 'PUB_APPROVAL_REFUSED' } } },
      `HTTP, ${approver}`
    )
    for (const surface of ['rpc', 'console', 'mcp', 'a2a'])
      await t.rejects(
        callAs(surface, 'local', { digest, approver }),
        { code: 'PUB_APPROVAL_REFUSED' },
        `${surface}, ${approver}`
      )
  }
  for (const [surface, id] of [
    ['rpc', 'local'],
    ['console', 'console:one'],
    ['console', 'console:two']
  ] as const)
    t.match(
      await callAs(surface, id, { digest }),
      { approver: normalisedName(systemUser()), is_new: false, missing_approvals: 1 },
      `${surface} as ${id}`
    )
  t.match(await send('/study-1/gate'), { body: { open: false, codes: ['missing_dual_approval'] } })
})

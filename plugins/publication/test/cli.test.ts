import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { CommandIo } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { approve, revoke } from '#root'
import { content, open, type World } from './kit.ts'

interface Run {
  /** Standard input; null: a terminal at which the answer is typed. */
  readonly stdin?: string
  readonly typed?: string
  readonly json?: boolean
}

async function start(t: Test, settings: object = {}) {
  const world = await open(t, settings)
  const { content_sha3_256: digest } = await world.records.prepare(content())
  const run = (handler: typeof approve) => (input: object, options?: Run) => runCommand(world, handler, input, options)
  return { ...world, digest, approve: run(approve), revoke: run(revoke) }
}

async function runCommand({ records, kernel }: World, handler: typeof approve, input: object, options: Run = {}) {
  const { stdin = '', typed, json = false } = options
  const texts = { out: '', err: '' }
  const stream = (name: 'out' | 'err') => {
    const output = new PassThrough()
    output.on('data', part => {
      texts[name] += part
      if (name === 'out' && typed !== undefined && texts.out.endsWith('leave: ')) input_.write(`${typed}\n`)
    })
    return Object.assign(output, typed === undefined ? {} : { isTTY: true })
  }
  const input_ = Object.assign(new PassThrough(), typed === undefined ? {} : { isTTY: true })
  if (typed === undefined) input_.end(stdin)
  const signal = new AbortController().signal
  const io = { stdin: input_, stdout: stream('out'), stderr: stream('err'), json, signal } as unknown as CommandIo
  const call = (id: string, request: unknown) => kernel.callById(id, request)
  const run = handler({ records, token: () => undefined, call })
  const code = await run({ publication_id: 'study-1', token_stdin: false, ...input }, io)
  return { code, ...texts }
}

t.test('a person approves the content that the terminal shows by typing its digest', async t => {
  const { approve, digest, records } = await start(t)
  const wrong = await approve({ as: 'Ann' }, { typed: '00000000' })
  t.match(wrong, { code: 1, err: 'Nothing was approved.\n' })
  t.strictSame(await records.approvals('study-1', digest), [])
  const right = await approve({ as: 'Ann' }, { typed: digest.slice(0, 8) })
  t.equal(right.code, 0)
  t.match(right.out, `Digest:  ${digest}`)
  t.match(right.out, 'study-1: ann approved it; 1 more approval by another person is needed')
})

t.test('the terminal shows what changed since the last approved content, without control characters', async t => {
  const { approve, digest, records } = await start(t)
  for (const as of ['Ann', 'Bob']) await approve({ as, digest })
  const next = await records.prepare(content({ title: 'A study\u001b[2J of doors' }))
  const { out } = await approve({ as: 'Ann' }, { typed: next.content_sha3_256.slice(0, 8) })
  t.match(out, '-A study of gates')
  t.match(out, '+A study\ufffd[2J of doors')
  t.notOk(out.includes('\u001b[2J of'))
})

t.test('without a terminal an approval needs the digest', async t => {
  const { approve, digest } = await start(t)
  await t.rejects(approve({ as: 'Ann' }), { code: 'PUB_OPTIONS_CONFLICT', hint: 'svc publication show study-1' })
  await t.rejects(approve({ as: 'Ann' }, { typed: '', json: true }), { code: 'PUB_OPTIONS_CONFLICT' })
  const { out } = await approve({ as: 'Ann', digest }, { json: true })
  t.match(JSON.parse(out), { approver: 'ann', missing_approvals: 1 })
  t.match(await approve({ as: 'ann', digest }), { out: /ann had already approved it/ })
  await t.rejects(approve({ as: 'Ann', digest: 'f'.repeat(64) }), { code: 'PUB_DIGEST_CHANGED' })
})

t.test('tokens are read from a file or from standard input', async t => {
  const token = 'the-token-of-ann-7391'
  const { approve, digest, kernel } = await start(t, { approver_tokens: { ann: token } })
  const token_file = join(kernel.root, 'token')
  writeFileSync(token_file, `${token}\n`)
  await t.rejects(approve({ as: 'Ann', digest }), { code: 'PUB_TOKEN_REFUSED' })
  await t.rejects(approve({ as: 'Ann', digest, token_stdin: true }, { stdin: '' }), { code: 'PUB_TOKEN_REFUSED' })
  await t.rejects(approve({ as: 'Ann', digest, token_file, token_stdin: true }), { code: 'PUB_OPTIONS_CONFLICT' })
  await t.rejects(approve({ as: 'Ann', digest, token_file: join(kernel.root, 'none') }), { code: 'PUB_TOKEN_REFUSED' })
  t.match(await approve({ as: 'Ann', digest, token_file }), { code: 0 })
  t.match(await approve({ as: 'Ann', digest, token_stdin: true }, { stdin: token }), { code: 0, out: /already/ })
})

t.test('an approval can be revoked until something was sent', async t => {
  const { approve, revoke, digest, records, store } = await start(t)
  for (const as of ['Ann', 'Bob']) await approve({ as, digest })
  const attempt = { publication_id: 'study-1', content_sha3_256: digest, channel: 'rss', attempted_at_ms: 1 }
  await records.recordAttempt({ ...attempt, outcome: { dry_run: true } })
  t.match(await revoke({ as: 'Bob' }), { code: 0, out: 'study-1: bob revoked the approval; state draft\n' })
  t.match(await revoke({ as: 'Bob' }), { code: 1, out: /had not approved/ })
  await approve({ as: 'Bob', digest })
  await store.migrate(
    `CREATE TABLE published_news (news_id TEXT, content_sha3_256 TEXT, channel TEXT, state TEXT, attempts INTEGER,
       lock_owner TEXT);
     INSERT INTO published_news VALUES ('study-1', '${digest}', 'rss', 'ready', 0, 'host:1')`
  )
  await t.rejects(revoke({ as: 'Bob' }), { code: 'PUB_REVOKE_REFUSED', message: /being sent to rss/ })
  await store.migrate('DROP TABLE published_news')
  await store.execute(
    `INSERT INTO external_submission_jobs (publication_id, content_sha3_256, adapter, operation, idempotency_key, status,
       created_at_ms, updated_at_ms) VALUES ('study-1', '${digest}', 'zenodo', 'submit', 'k', 'running', 1, 1)`
  )
  await t.rejects(revoke({ as: 'Bob' }), { code: 'PUB_REVOKE_REFUSED', message: /submitted to zenodo/ })
  await store.execute('DELETE FROM external_submission_jobs')
  await records.recordAttempt({ ...attempt, outcome: { sent: true } })
  await t.rejects(revoke({ as: 'Bob' }), { code: 'PUB_REVOKE_REFUSED' })
  t.ok(await records.setState('study-1', digest, 'published'))
  await t.rejects(revoke({ as: 'Ann' }), { code: 'PUB_REVOKE_REFUSED', message: /state is published/ })
})

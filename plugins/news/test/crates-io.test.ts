import t from 'tap'
import { ChannelRun, openChannels, postWith } from './channel-run.ts'
import { openService } from './service-server.ts'

/**
 * Speaks `GET /api/v1/crates/{name}/{version}` of crates.io as in its test snapshots (rust-lang/crates.io:
 * src/tests/snapshots/all__version__show_by_crate_name_and_version.snap, …user_agent_is_required.snap).
 */
t.test('crates_io posts nothing: it records the address of a published version', async t => {
  const service = await openService(t, ({ path, headers }) => {
    if ((headers['user-agent'] ?? '') === '') return { status: 403 }
    const num = /^\/api\/v1\/crates\/tool\/(.+)$/.exec(path)?.[1]
    if (num === undefined || num === '9.9.9') return { status: 404, body: { errors: [{ detail: 'Not Found' }] } }
    return { body: { version: { id: 1, crate: 'tool', num, yanked: num === '1.0.0', license: 'MIT' } } }
  })
  const { channel } = await openChannels(t, { settings: { crates_io_api_base: service.url } })
  const crates = channel('crates_io')
  const send = (version: string) => new ChannelRun().attempt(crates, postWith({ crate: 'tool', version }))
  t.equal(await crates.problem(), null)
  t.same(await send('2.0.0'), { externalId: 'tool@2.0.0', url: 'https://crates.io/crates/tool/2.0.0' })
  await t.rejects(send('9.9.9'), { code: 'crate_version_unknown', failureClass: 'fatal' })
  await t.rejects(send('1.0.0'), { code: 'crate_version_yanked', failureClass: 'fatal' })
  service.fail('GET', '/api/v1/crates/tool/2.0.0', { status: 200, body: { version: {} } })
  await t.rejects(send('2.0.0'), { code: 'answer_invalid', failureClass: 'fatal' })
  service.fail('GET', '/api/v1/crates/tool/2.0.0', { status: 503 })
  await t.rejects(send('2.0.0'), { code: 'http_503', failureClass: 'transient' })
  t.same(new Set(service.seen.map(({ method }) => method)), new Set(['GET']))
  t.match(await crates.preview(postWith({ crate: 'tool', version: '2.0.0' })), [
    { label: 'address', text: 'https://crates.io/crates/tool/2.0.0' }
  ])
})

import { kernelAdmin } from '@svc/contracts'
import { fake, testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import cli from '#plugin'
import { fakeAdmin, pluginReport } from './fake-admin.ts'

async function open(t: Test) {
  const kernel = await testPlugin(cli, {
    services: [fake(kernelAdmin, fakeAdmin([pluginReport('a')]))],
    packageRoot: new URL('..', import.meta.url)
  })
  t.teardown(() => kernel.close())
  return kernel
}

t.test('explains a code in any case, with what to do and the address of its page', async t => {
  const kernel = await open(t)
  const explained = (await kernel.callById('errors.explain', { code: 'krn_closed' })) as Record<string, unknown>
  t.match(explained, {
    code: 'KRN_CLOSED',
    status: 503,
    meaning: 'The kernel is closing or closed.',
    owner: '@svc/kernel',
    docs: /\/docs\/reference\/errors\.md#krn_closed$/
  })
  t.match(explained.text, /^KRN_CLOSED \(HTTP 503, @svc\/kernel\)\n\nThe kernel is closing or closed\.\n\n.+\n\nhttps:/)
})

t.test('suggests a near code for one that does not exist', async t => {
  const kernel = await open(t)
  await t.rejects(kernel.callById('errors.explain', { code: 'KRN_CLOSE' }), {
    code: 'CLI_CODE_UNKNOWN',
    status: 404,
    message: 'KRN_CLOSE: no error code; did you mean KRN_CLOSED?'
  })
  await t.rejects(kernel.callById('errors.explain', { code: 'nothing at all' }), {
    message: 'nothing at all: no error code; svc errors list shows the codes'
  })
})

t.test('lists the codes with a prefix', async t => {
  const kernel = await open(t)
  const { errors } = (await kernel.callById('errors.list', { prefix: 'opr' })) as { errors: { code: string }[] }
  t.ok(errors.some(({ code }) => code === 'OPR_TIMEOUT'))
  t.ok(errors.every(({ code }) => code.startsWith('OPR')))
})

import { type SkillsGateway, skillsGateway } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import openclaw from '#plugin'
import { fakeGateway } from './fake-gateway.ts'
import { TOKEN } from './open-gateway.ts'

t.test('the plugin provides a gateway, shows its addresses, and hides the token', async t => {
  const fake = await fakeGateway(t)
  let gateway: { readonly current: SkillsGateway } | undefined
  const user = definePlugin({
    name: 'user',
    requires: { gateway: ref(skillsGateway) },
    activate(_, deps) {
      gateway = deps.gateway
    }
  })
  const kernel = await testKernel([openclaw as Plugin, user as Plugin], {
    settings: { openclaw: { url: fake.url, ws_url: fake.wsUrl, token: TOKEN } }
  })
  t.equal(fake.seen.length + fake.connections, 0, 'no request is sent before the first call')
  t.match(await gateway?.current.subscribe('builds'), { method: 'subscriptions.subscribe' })
  const info = await kernel.callById('skills.endpoints', {})
  t.match(info, { http_gateway_url: fake.url, ws_gateway_url: fake.wsUrl, token_configured: true })
  t.notMatch(JSON.stringify(info), TOKEN)
  await kernel.close()
  await fake.idle()
})

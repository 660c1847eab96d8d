import { defaultQgatePolicy } from '@svc/contracts'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import orchestratorPlugin from '#plugin'
import { replaceSettings } from '#root'
import { policyView } from '#service'
import { defaultSettings } from './default-settings.ts'

t.test('replaceSettings removes settings that are no longer set', async t => {
  const held = defaultSettings({ campaign_id: 'spring', inference_base_url: 'http://127.0.0.1:1', max_agents: 3 })
  replaceSettings(held, defaultSettings({ campaign_id: 'autumn' }))
  t.same(held, defaultSettings({ campaign_id: 'autumn' }))
})

t.test('each field of socrates_policy overrides one threshold', async t => {
  t.same(policyView(defaultSettings({}), 'memory').qgate, defaultQgatePolicy)
  for (const [name, value] of Object.entries(defaultQgatePolicy)) {
    const changed = Number.isInteger(value) ? value - 1 : value / 2
    const { qgate } = policyView(defaultSettings({ socrates_policy: { [name]: changed } }), 'memory')
    t.same(qgate, { ...defaultQgatePolicy, [name]: changed }, name)
    for (const socrates_policy of [{ [name]: -0.1 }, { [name]: 101 }])
      await t.rejects(testKernel([orchestratorPlugin], { settings: { orchestrator: { socrates_policy } } }), {
        message: new RegExp(name)
      })
  }
})

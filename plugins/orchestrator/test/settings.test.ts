import t from 'tap'
import { replaceSettings } from '#root'
import { defaultSettings } from './default-settings.ts'

t.test('replaceSettings removes settings that are no longer set', async t => {
  const held = defaultSettings({ campaign_id: 'spring', inference_base_url: 'http://127.0.0.1:1', max_agents: 3 })
  replaceSettings(held, defaultSettings({ campaign_id: 'autumn' }))
  t.same(held, defaultSettings({ campaign_id: 'autumn' }))
})

import t from 'tap'
import { withMeshInference } from '#root'
import { defaultSettings } from './default-settings.ts'

t.test('the base URL of [mesh] applies unless [orchestrator] has one, and an empty variable clears both', async t => {
  const none = defaultSettings()
  const mesh = { value: 'http://mesh:11435', place: 'svc.toml:2:1' }
  const reports = (own: { readonly value: unknown; readonly place: string | null }) => (key: string) =>
    key === 'mesh.inference_base_url' ? mesh : own
  const unset = { value: null, place: null }
  t.equal(withMeshInference(none, reports(unset)).inference_base_url, 'http://mesh:11435')
  const own = { ...none, inference_base_url: 'http://own' }
  t.equal(
    withMeshInference(own, reports({ value: 'http://own', place: 'svc.toml:5:1' })).inference_base_url,
    'http://own'
  )
  const cleared = { value: null, place: 'SVC_ORCHESTRATOR_INFERENCE_BASE_URL' }
  t.equal(withMeshInference(none, reports(cleared)).inference_base_url, undefined)
  t.equal(withMeshInference(none, () => undefined).inference_base_url, undefined)
})

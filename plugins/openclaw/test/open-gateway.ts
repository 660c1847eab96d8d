import type { Test } from 'tap'
import { OpenClawGateway, type Settings } from '#root'
import { type FakeGateway, type FakeOptions, fakeGateway } from './fake-gateway.ts'

export const DEFAULTS: Settings = {
  discovery_timeout_ms: 30_000,
  request_timeout_ms: 30_000,
  challenge_timeout_ms: 30_000,
  sidecar_disabled: false,
  sidecar_start_max_attempts: 3,
  sidecar_start_backoff_ms: 100,
  shell_image: 'alpine:3',
  tool_image: 'node:20-alpine',
  skill_timeout_ms: 30_000
}

export const TOKEN = 'token-that-nobody-may-see'

/** Opens the plugin's gateway, connected to a fake one. Both end with the test. */
export async function openGateway(
  t: Test,
  options: FakeOptions = {},
  settings: Partial<Settings> = {}
): Promise<{ readonly fake: FakeGateway; readonly gateway: OpenClawGateway }> {
  const fake = await fakeGateway(t, options)
  const gateway = new OpenClawGateway(
    { ...DEFAULTS, url: fake.url, ws_url: fake.wsUrl, token: TOKEN, ...settings },
    '1.2.3'
  )
  t.teardown(() => gateway.close())
  return { fake, gateway }
}

import type { DeclaredSecretResolver, KernelAdmin } from '@svc/contracts'
import t from 'tap'
import { secretFinder } from '#root'

const TOKEN = 'SVC_OPENREVIEW_ACCESS_TOKEN'

/** Reports of settings as the kernel gives them. */
function adminWith(profile: string, value: string) {
  const reports = { 'plugins.secrets.profile': profile, 'plugins.scholarly.openreview_access_token': value }
  return {
    settings: (prefix = '') =>
      Object.entries(reports)
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, each]) => ({ key, value: each, layer: 'project' }))
  } as unknown as Pick<KernelAdmin, 'settings'>
}

/** Resolver whose backend has the value, or nothing. */
function resolverWith(value: string | null): DeclaredSecretResolver {
  return {
    find: async id => ({
      id,
      status: value === null ? 'RejectedSourcePolicy' : 'Present',
      source: value === null ? null : 'ExternalBackend',
      place: null,
      detail: null,
      present: value !== null
    }),
    resolve: async () => value ?? ''
  }
}

t.test('strict profiles take the credentials of OpenReview from a backend only', async t => {
  const find = (profile: string, value: string, stored: string | null = null) =>
    secretFinder(
      () => resolverWith(stored),
      () => adminWith(profile, value)
    )('from-the-settings', TOKEN)
  t.equal(await find('dev', '***'), 'from-the-settings')
  for (const profile of ['ci', 'prod', 'hard_cut']) {
    t.equal(await find(profile, 'secret://vault/openreview'), 'from-the-settings')
    t.equal(await find(profile, '***', 'from-the-vault'), 'from-the-vault')
    for (const value of ['***', 'secret://env/OTHER', 'secret://auth/openreview'])
      await t.rejects(find(profile, value), { code: 'secret_refused', message: /--store vault/ })
  }
  const other = secretFinder(
    () => undefined,
    () => adminWith('prod', '***')
  )
  t.equal(await other('zenodo-token', 'SVC_ZENODO_ACCESS_TOKEN'), 'zenodo-token', 'others are accepted')
  t.equal(await other(undefined, TOKEN), null)
  await t.rejects(other('from-the-settings', TOKEN), { code: 'secret_refused' })
})

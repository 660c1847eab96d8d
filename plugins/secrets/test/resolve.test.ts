import {
  CUTOVER_PHASES,
  type DeclaredSecret,
  policyOf,
  profileOf,
  SECRET_PROFILES,
  SECRET_STATUSES,
  type SecretStatus,
  secretsPolicy
} from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { redact, resolveSecret, type Sources, scrub } from '#root'

const NOW = 1_800_000_000_000
const SECRET: DeclaredSecret = {
  id: 'forge.token',
  env: 'CANONICAL',
  aliases: ['ALIAS'],
  deprecatedAliases: ['OLD'],
  registry: 'forge',
  remediation: 'set CANONICAL',
  description: 'A forge'
}

interface World {
  readonly secret?: Partial<DeclaredSecret>
  readonly env?: Record<string, string>
  /** Text: value; null: nothing; 'fails': an error. */
  readonly backend?: { readonly value: string | null; readonly overridden?: boolean; readonly days?: number } | 'fails'
  readonly registry?: string | null | 'fails'
  readonly mesh?: string | null
  readonly profile?: string
  readonly phase?: string
}

function resolveIn(world: World, asked: string[] = []) {
  const { secret = {}, env = {}, backend, registry = null, mesh = null, profile = 'dev', phase = 'shadow' } = world
  const sources: Sources = {
    env,
    backend:
      backend === undefined
        ? null
        : {
            name: 'vox_cloud',
            async get(key) {
              asked.push(`backend ${key}`)
              if (backend === 'fails') throw new Error('the backend is down')
              const { value, overridden = false, days } = backend
              return value === null
                ? null
                : { value, overridden, ...(days === undefined ? {} : { rotatedAtMs: NOW - days * 86_400_000 }) }
            }
          },
    async registry() {
      asked.push('registry')
      if (registry === 'fails') throw new Error('the keyring is locked')
      return registry === null ? null : { value: registry, source: 'AuthJson', place: 'auth.json' }
    },
    meshEnv() {
      asked.push('mesh')
      return mesh === null ? null : { value: mesh, source: 'MeshEnvFile', place: 'mesh.env' }
    },
    now: () => NOW
  }
  return resolveSecret({ ...SECRET, ...secret }, policyOf({ profile, phase, hardCut: false }), sources)
}

t.test('each status has a case', async t => {
  const cases: Record<SecretStatus, World> = {
    Present: { env: { CANONICAL: 'a' } },
    MissingOptional: {},
    MissingRequired: { secret: { policy: 'required' } },
    InvalidEmpty: { env: { CANONICAL: ' \t' }, registry: 'b' },
    DeprecatedAliasUsed: { env: { OLD: 'a' } },
    RejectedLegacyAlias: { env: { OLD: 'a' }, profile: 'ci' },
    RejectedSourcePolicy: { env: { CANONICAL: 'a' }, phase: 'enforce' },
    RejectedClassPolicy: { env: { CANONICAL: 'a' }, profile: 'prod', secret: { environmentInStrict: false } },
    BackendUnavailable: { backend: 'fails', registry: 'b', profile: 'prod_strict' },
    ProfileOverrideUsed: { backend: { value: 'a', overridden: true } },
    StaleRotation: { backend: { value: 'a', days: 31 }, secret: { rotationDays: 30 } },
    NearingExpiry: { backend: { value: 'a', days: 28 }, secret: { rotationDays: 30 } }
  }
  t.same(Object.keys(cases), [...SECRET_STATUSES])
  for (const [status, world] of Object.entries(cases)) t.equal((await resolveIn(world)).finding.status, status)
})

t.test('each source has its label', async t => {
  const source = async (world: World) => (await resolveIn(world)).finding.source
  t.equal(await source({ env: { CANONICAL: 'a', ALIAS: 'b' } }), 'EnvCanonical')
  t.equal(await source({ env: { ALIAS: 'b', OLD: 'c' } }), 'EnvAlias')
  t.equal(await source({ backend: { value: 'a' }, registry: 'b', mesh: 'c' }), 'ExternalBackend')
  t.equal(await source({ backend: { value: null }, registry: 'b', mesh: 'c' }), 'AuthJson')
  t.equal(await source({ mesh: 'c' }), 'MeshEnvFile')
})

const value = fc.constantFrom('', ' ', 'first', 'second')
const world = fc.record(
  {
    secret: fc.record(
      {
        policy: fc.constantFrom('required' as const, 'optional' as const),
        environmentInStrict: fc.boolean(),
        compatInStrict: fc.boolean()
      },
      { requiredKeys: [] }
    ),
    env: fc.dictionary(fc.constantFrom('CANONICAL', 'ALIAS', 'OLD', 'OTHER'), value),
    backend: fc.oneof(fc.constant('fails' as const), fc.record({ value: fc.option(value), overridden: fc.boolean() })),
    registry: fc.oneof(fc.constant('fails' as const), fc.option(value)),
    mesh: fc.option(value),
    profile: fc.constantFrom('dev', 'ci', 'ci_strict', 'prod', 'hard_cut', 'hardcut', 'unknown'),
    phase: fc.constantFrom(...CUTOVER_PHASES, 'unknown')
  },
  { requiredKeys: [] }
)

t.test('the first accepted source in the documented order decides, whatever else is set', async () => {
  await fc.assert(
    fc.asyncProperty(world, async given => {
      const strict = !['dev', 'unknown', undefined].includes(given.profile)
      const cut = ['enforce', 'decommission'].includes(given.phase ?? '') || (given.phase === 'canary' && strict)
      const envAllowed = !cut && !(strict && given.secret?.environmentInStrict === false)
      const filesAllowed = !cut && !(strict && given.secret?.compatInStrict === false)
      // Candidates in order; the first one that is set decides.
      const variables = ['CANONICAL', 'ALIAS', 'OLD'].map(name => given.env?.[name])
      const candidates: (string | null | undefined)[] = []
      if (envAllowed) candidates.push(...variables)
      const isDown = given.backend === 'fails'
      candidates.push(given.backend === undefined || given.backend === 'fails' ? null : given.backend.value)
      const fromEnv = envAllowed && variables.some(each => each !== undefined)
      if (filesAllowed && !(isDown && strict)) {
        if (given.registry !== 'fails') candidates.push(given.registry)
        candidates.push(given.mesh)
      }
      const expected = candidates.find(each => each !== undefined && each !== null)
      const usesOld = fromEnv && variables[0] === undefined && variables[1] === undefined
      const isAccepted = expected !== undefined && expected !== null && expected.trim() !== '' && !(usesOld && strict)
      const { finding, value: found } = await resolveIn(given as World)
      if (found !== (isAccepted ? expected : undefined)) throw new Error(`${found} instead of ${expected}`)
      if (finding.present !== isAccepted) throw new Error('present does not agree with the value')
      if ((finding.source !== null) !== isAccepted) throw new Error(`source ${finding.source}`)
    }),
    { numRuns: 500 }
  )
})

t.test('no place is asked that the phase refuses, or after a value was found', async t => {
  const asked: string[] = []
  await resolveIn({ env: { CANONICAL: 'a' }, backend: { value: 'b' }, registry: 'c' }, asked)
  t.same(asked, [])
  await resolveIn({ backend: { value: null }, registry: 'c', phase: 'decommission' }, asked)
  t.same(asked, ['backend CANONICAL'])
  const key: string[] = []
  await resolveIn({ secret: { backendKey: 'team/forge' }, backend: { value: 'a' } }, key)
  t.same(key, ['backend team/forge'])
})

t.test('findings name the place and the cause, and never contain the value', async t => {
  await fc.assert(
    fc.asyncProperty(world, async given => {
      const { finding } = await resolveIn(given as World)
      if (/first|second/.test(JSON.stringify(finding))) throw new Error('a finding contains the value')
    }),
    { numRuns: 200 }
  )
  t.match((await resolveIn({ env: { OLD: 'a' } })).finding, { place: 'OLD', detail: /use CANONICAL/ })
  t.match((await resolveIn({ registry: 'fails', backend: 'fails' })).finding, { detail: /down.*locked/ })
})

t.test('profiles have synonyms, and unknown names have the defaults', t => {
  for (const profile of SECRET_PROFILES) t.equal(profileOf(` ${profile.toUpperCase()} `), profile)
  t.equal(profileOf('ci_strict'), 'ci')
  t.equal(profileOf('hardcut'), 'hard_cut')
  t.equal(profileOf('staging'), null)
  t.match(secretsPolicy(undefined), { profile: 'dev', phase: 'shadow', legacySources: true, legacySqlAliases: true })
  const settings = [
    { key: 'plugins.secrets.cutover_phase', value: 'Canary' },
    { key: 'plugins.secrets.profile', value: 'prod' },
    { key: 'plugins.secrets.hard_cut', value: true }
  ]
  t.match(secretsPolicy({ settings: () => settings as never }), {
    profile: 'prod',
    phase: 'canary',
    legacySources: false,
    legacySqlAliases: false
  })
  t.end()
})

t.test('redaction shows at most six characters, and the scrubber removes every known value of eight', t => {
  t.equal(redact(undefined), '(missing)')
  t.equal(redact('secret'), '***')
  t.equal(redact('sk-1234567890'), 'sk-1…90 (redacted)')
  fc.assert(
    fc.property(fc.json(), fc.array(fc.string({ minLength: 8, maxLength: 12 }), { minLength: 1 }), (json, secrets) => {
      const value = { json, list: secrets, [`key ${secrets[0]}`]: { inner: `x${secrets.at(-1)}y` } }
      const text = JSON.stringify(scrub(value, secrets))
      for (const secret of secrets)
        if (text.includes(JSON.stringify(secret).slice(1, -1)) && !'[REDACTED]'.includes(secret))
          throw new Error('a secret is left')
    }),
    { numRuns: 100 }
  )
  t.same(scrub({ a: 'short', b: ['xxlongsecretxx'] }, ['short', 'longsecret']), { a: 'short', b: ['xx[REDACTED]xx'] })
  t.end()
})

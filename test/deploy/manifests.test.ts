import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { DEPLOY, ROOT, readYaml } from './read.ts'

const KUBERNETES = join(DEPLOY, 'kubernetes')

/** Services of a Compose file that run svc. */
function svcServices(file: string): [string, any][] {
  return Object.entries<any>(readYaml(file)[0].services).filter(([, { image }]) => image === 'svc')
}

for (const file of [join(ROOT, 'compose.yaml'), join(DEPLOY, 'mesh', 'compose.yaml')]) {
  const [compose] = readYaml(file)

  t.test(`${file.slice(ROOT.length + 1)}: svc has no rights and writes only in its volume`, async t => {
    for (const [name, service] of svcServices(file)) {
      t.match(service, { read_only: true, init: true, cap_drop: ['ALL'], stop_grace_period: '75s' }, name)
      t.match(service.security_opt, ['no-new-privileges:true'])
      t.match(service.tmpfs, ['/tmp'])
      t.match(service.volumes, [/^[a-z]+:\/data$/])
      t.ok(service.mem_limit, `${name} has a limit of memory`)
    }
  })

  t.test(`${file.slice(ROOT.length + 1)}: ports are open on this machine only`, async t => {
    for (const service of Object.values<any>(compose.services))
      for (const port of service.ports ?? []) t.match(port, /^127\.0\.0\.1:/)
  })

  t.test(`${file.slice(ROOT.length + 1)}: secrets come from files, and every reference exists`, async t => {
    for (const [name, service] of Object.entries<any>(compose.services)) {
      for (const key of Object.keys(service.environment ?? {}))
        t.notMatch(key, /(?:password|token|secret|key)$/i, `${name}: ${key}`)
      for (const secret of service.secrets ?? []) t.ok(compose.secrets[secret], `${name}: secret ${secret}`)
      for (const { source } of service.configs ?? []) t.ok(compose.configs[source], `${name}: config ${source}`)
      for (const other of Object.keys(service.depends_on ?? {})) t.ok(compose.services[other], `${name}: ${other}`)
      if (service.build !== undefined) t.ok(existsSync(resolve(dirname(file), service.build.context, 'Dockerfile')))
    }
    for (const { file: path } of Object.values<any>(compose.configs ?? {}))
      t.ok(existsSync(resolve(dirname(file), path)), path)
    for (const { file: path } of Object.values<any>(compose.secrets)) t.match(path, /^\.\/secrets\//)
  })
}

const [stateful] = readYaml(join(KUBERNETES, 'base', 'stateful-set.yaml'))
const pod = stateful.spec.template.spec
const [container] = pod.containers

t.test('the pod of Kubernetes passes the restricted security standard', async t => {
  t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } })
  t.same(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] }
  })
  t.equal(pod.automountServiceAccountToken, false)
  t.notOk(pod.hostNetwork ?? pod.hostPID)
})

t.test('the pod has one process, time to stop, and probes that pass any setting of allowed_hosts', async t => {
  t.equal(stateful.spec.replicas, 1, 'one process may write the embedded database')
  t.equal(pod.terminationGracePeriodSeconds, 75)
  const paths = { startupProbe: '/ready', readinessProbe: '/ready', livenessProbe: '/health' }
  for (const [probe, path] of Object.entries(paths))
    t.match(
      container[probe].httpGet,
      { path, port: 'http', httpHeaders: [{ name: 'Host', value: 'localhost' }] },
      probe
    )
  t.notOk(container.env, 'secrets are files')
})

t.test('every volume of the pod is declared, and the names of the manifests belong together', async t => {
  const declared = [...pod.volumes, ...stateful.spec.volumeClaimTemplates.map((each: any) => each.metadata)]
  t.same(container.volumeMounts.map((each: any) => each.name).sort(), declared.map((each: any) => each.name).sort())
  const labels = stateful.spec.template.metadata.labels
  const [service] = readYaml(join(KUBERNETES, 'base', 'service.yaml'))
  const [policy] = readYaml(join(KUBERNETES, 'base', 'network-policy.yaml'))
  for (const selector of [
    stateful.spec.selector.matchLabels,
    service.spec.selector,
    policy.spec.podSelector.matchLabels
  ])
    t.same(selector, labels)
  t.equal(service.metadata.name, stateful.spec.serviceName)
  t.equal(service.spec.ports[0].targetPort, container.ports[0].name)
})

for (const name of ['base', 'cuda'])
  t.test(`${name}: the kustomization names files that exist`, async t => {
    const folder = join(KUBERNETES, name)
    const [{ resources, patches = [], configMapGenerator }] = readYaml(join(folder, 'kustomization.yaml'))
    const files = [...resources, ...patches.map((each: any) => each.path), ...configMapGenerator[0].files]
    for (const file of files) t.ok(existsSync(join(folder, file)), file)
  })

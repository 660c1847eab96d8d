import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import t from 'tap'
import { DEPLOY, ROOT } from './read.ts'

const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')

/** Lines of each stage by its name, with continued lines joined and without comments. */
function stages(): Map<string, string[]> {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter(Boolean)
  const found = new Map<string, string[]>()
  for (const line of lines) {
    const name = /^FROM \S+ AS (\S+)$/.exec(line)?.[1]
    if (name !== undefined) found.set(name, [])
    else [...found.values()].at(-1)?.push(line)
  }
  return found
}

t.test('a linter finds nothing in the Dockerfile', async t => {
  t.same(
    validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`),
    []
  )
})

t.test('each image runs as a numbered user other than root, in the volume, with a health check', async t => {
  for (const name of ['cpu', 'cuda']) {
    const lines = stages().get(name) ?? []
    const user = lines.filter(line => line.startsWith('USER ')).at(-1)
    t.match(user, /^USER [1-9]\d*:[1-9]\d*$/, `${name}: Kubernetes can check a number`)
    for (const line of ['WORKDIR /data', 'VOLUME /data', 'ENTRYPOINT ["/opt/svc/entrypoint.sh"]'])
      t.ok(lines.includes(line), `${name}: ${line}`)
    t.ok(
      lines.some(line => line.startsWith('HEALTHCHECK ') && line.includes('/opt/svc/ready.mjs')),
      `${name} has a health check`
    )
    const image = lines.indexOf(user ?? '')
    t.notOk(
      lines.slice(image).some(line => line.startsWith('RUN ')),
      `${name}: nothing is built as that user`
    )
  }
})

t.test('the image without CUDA is the default', async t => {
  t.equal([...stages().keys()].at(-1), 'cpu')
})

t.test('the CUDA provider has the version of the ONNX Runtime that svc uses', async t => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  t.match(text, `ARG ONNXRUNTIME=${lock.packages['node_modules/onnxruntime-node'].version}\n`)
})

t.test('the build gets the files that it needs, and no state or secret of a checkout', async t => {
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  for (const name of ['.git', 'secrets', '**/.env', '**/.vox', '**/node_modules', '**/svc.local.toml'])
    t.ok(ignored.includes(name), `${name} stays out`)
  for (const file of ['svc.toml', 'entrypoint.sh', 'ready.mjs']) t.ok(existsSync(join(DEPLOY, 'image', file)), file)
})

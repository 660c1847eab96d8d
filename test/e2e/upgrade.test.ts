import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { errorOf, runSvc } from './run-svc.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const RELEASE = [
  '--import',
  'tsx',
  '--conditions=svc-source',
  'tools/release.ts',
  '--bundle',
  '--no-audit',
  '--plugins',
  'cli,updates'
]

t.test(
  'releases of this repository are installed from a server, run, and are taken back; others are refused',
  async t => {
    const folder = t.testdir({ release: {}, project: { 'svc.toml': '' } })
    const [release, project, home] = [join(folder, 'release'), join(folder, 'project'), join(folder, 'home')]
    const env = { ...process.env, NODE_OPTIONS: '' }
    const keys = generateKeyPairSync('ed25519')
    const key = join(folder, 'key.pem')
    writeFileSync(key, keys.privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
    const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')
    const make = (tag: string) =>
      promisify(execFile)(process.execPath, [...RELEASE, '--tag', tag, '--out', join(release, tag), '--key', key], {
        cwd: ROOT,
        env
      })
    await make('v1.0.1')
    let tamper = false
    const server = createServer((request, response) => {
      const content = readFileSync(join(release, request.url?.replace(/^\/download\//, '') ?? ''))
      if (tamper && request.url?.endsWith('.gz') === true) content[1_000] = (content[1_000] ?? 0) ^ 1
      response.end(content)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const upgrade = (...flags: string[]) =>
      runSvc(
        project,
        [
          'upgrade',
          '--json',
          ...['--set', `plugins.updates.home=${home}`, '--set', `plugins.updates.public_key=${publicKey}`],
          ...['--provider', 'http', '--base-url', url, ...flags]
        ],
        { env: { SVC_UPGRADE_VERSION: 'v1.0.1' } }
      )
    tamper = true
    const refused = await upgrade('--apply', '--allow-breaking')
    t.match([refused.code, errorOf(refused)], [1, { code: 'UPD_CHECKSUM' }])
    tamper = false
    const installed = await upgrade('--apply', '--allow-breaking')
    t.equal(installed.code, 0, installed.stderr)
    t.match(JSON.parse(installed.stdout).toolchain_upgrade, { status: 'installed', installed_version: '1.0.1' })
    const program = async (...argv: string[]): Promise<string> =>
      (await promisify(execFile)(join(home, 'bin', 'svc'), argv, { cwd: project, env })).stdout
    t.equal(await program('--version'), '1.0.1\n')
    t.match(await program('plugins', 'list', '--json'), /"updates"/)

    await make('v1.1.0')
    const own = ['--set', `plugins.updates.home=${home}`, '--set', `plugins.updates.public_key=${publicKey}`]
    const next = [
      'upgrade',
      '--json',
      ...own,
      '--provider',
      'http',
      '--base-url',
      url,
      '--version',
      'v1.1.0',
      '--apply'
    ]
    t.match(JSON.parse(await program(...next)).toolchain_upgrade, {
      status: 'installed',
      current_version: '1.0.1',
      installed_version: '1.1.0'
    })
    t.equal(await program('--version'), '1.1.0\n', 'the installed program installs the next one')
    t.match(JSON.parse(await program('upgrade', '--json', ...own, '--rollback')).toolchain_upgrade, {
      status: 'rolled_back'
    })
    t.equal(await program('--version'), '1.0.1\n')
    t.match(await program('plugins', 'list', '--json'), /"updates"/)
  }
)

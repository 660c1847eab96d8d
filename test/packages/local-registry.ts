import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { create, extract } from 'tar'

const ROOT = join(import.meta.dirname, '..', '..')

interface Version {
  readonly manifest: { readonly name: string; readonly version: string }
  readonly tarball: string
}

/**
 * Serves a read-only npm registry on loopback: the packages in the tarballs of a folder, and the libraries that are
 * installed in this repository. Resolves to its address.
 */
export async function serveRegistry(t: Test, folder: string): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-registry-'))
  t.teardown(() => rmSync(scratch, { recursive: true, force: true }))
  const own = readdirSync(folder).map(file => readVersion(join(folder, file), scratch))
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly link?: boolean }>>
  }
  const installed = Object.keys(packages).filter(key => key.includes('node_modules/') && packages[key]?.link !== true)
  const versionsOf = (name: string): Version[] => {
    const ours = own.filter(({ manifest }) => manifest.name === name)
    if (ours.length > 0) return ours
    const folders = installed.filter(key => key.endsWith(`node_modules/${name}`)).map(key => join(ROOT, key))
    const found = folders.filter(each => existsSync(join(each, 'package.json'))).map(each => packVersion(each, scratch))
    return [...new Map(found.map(version => [version.manifest.version, version])).values()]
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    if (path.startsWith('-/tarball/')) {
      response.end(readFileSync(Buffer.from(path.slice('-/tarball/'.length), 'base64url').toString()))
      return
    }
    const versions = versionsOf(path)
    if (versions.length === 0) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
      return
    }
    const url = `http://${request.headers.host}/-/tarball/`
    const latest = versions[0]?.manifest.version
    const described = versions.map(({ manifest, tarball }) => {
      const integrity = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
      const dist = { tarball: url + Buffer.from(tarball).toString('base64url'), integrity }
      return [manifest.version, { ...manifest, dist }]
    })
    const document = { name: path, 'dist-tags': { latest }, versions: Object.fromEntries(described) }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function readVersion(tarball: string, scratch: string): Version {
  const folder = mkdtempSync(join(scratch, 'manifest-'))
  extract({ file: tarball, cwd: folder, strip: 1, sync: true, filter: path => path === 'package/package.json' })
  return { manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), tarball }
}

/** Packs an installed library without the libraries below it. */
function packVersion(folder: string, scratch: string): Version {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  // Without an install script that npm would report.
  delete manifest.scripts
  const tarball = join(scratch, `${`${manifest.name}-${manifest.version}`.replaceAll('/', '-')}.tgz`)
  const filter = (path: string) => !path.startsWith('./node_modules/')
  if (!existsSync(tarball))
    create({ file: tarball, cwd: folder, gzip: { level: 1 }, prefix: 'package', follow: true, filter, sync: true }, [
      '.'
    ])
  return { manifest, tarball }
}

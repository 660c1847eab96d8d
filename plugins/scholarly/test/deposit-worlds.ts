import type { PublicationManifest, ScholarlyAdapter } from '@svc/contracts'
import type { Test } from 'tap'
import { osfAdapter, type Settings, zenodoAdapter } from '#root'
import type { Fault } from './archive-server.ts'
import { partsWith, publication, TOKEN } from './deposit-kit.ts'
import { OsfServer } from './osf-server.ts'
import { ZenodoServer } from './zenodo-server.ts'

/** An archive with its server, for tests that all archives of deposits pass. */
export interface DepositWorld {
  readonly adapter: ScholarlyAdapter
  readonly manifest: PublicationManifest
  readonly server: { fail(...faults: Fault[]): void; count(start: string): number; readonly seen: readonly unknown[] }
  /** Beginnings of the requests of a submission. */
  readonly requests: Readonly<Record<'find' | 'create' | 'read' | 'upload' | 'publish', string>>
  /** Number of entries of this digest. */
  entries(): number
  /** Number of published entries of this digest. */
  published(): number
  /** Files of the only entry. */
  files(): { readonly name: string; readonly bytes: number; readonly hash: string }[]
}

export interface DepositArchive {
  readonly name: string
  /** Hash that the archive reports. */
  readonly algorithm: 'md5' | 'sha256'
  open(
    t: Test,
    settings?: Partial<Settings>,
    options?: { readonly lagMs?: number; readonly manifest?: PublicationManifest; readonly projectRoot?: string }
  ): Promise<DepositWorld>
}

export const ARCHIVES: readonly DepositArchive[] = [
  {
    name: 'zenodo',
    algorithm: 'md5',
    async open(t, settings = {}, { lagMs, manifest = publication(), projectRoot } = {}) {
      const server = await ZenodoServer.open(t, { token: TOKEN, ...(lagMs === undefined ? {} : { indexLagMs: lagMs }) })
      const own = { zenodo_access_token: TOKEN, zenodo_api_base: server.origin }
      const entries = () => server.withDigest(manifest.content_sha3_256)
      return {
        adapter: zenodoAdapter(partsWith({ ...own, ...settings }, projectRoot)),
        manifest,
        server,
        requests: {
          find: 'GET /api/deposit/depositions?',
          create: 'POST /api/deposit/depositions',
          read: 'GET /api/deposit/depositions/',
          upload: 'PUT /api/files/',
          publish: 'POST /api/deposit/depositions/542201/actions/publish'
        },
        entries: () => entries().length,
        published: () => entries().filter(({ state }) => state === 'done').length,
        files: () => [...(entries()[0]?.files ?? [])].map(([name, { bytes, md5 }]) => ({ name, bytes, hash: md5 }))
      }
    }
  },
  {
    name: 'osf',
    algorithm: 'sha256',
    async open(t, settings = {}, { lagMs, manifest = publication(), projectRoot } = {}) {
      const server = await OsfServer.open(t, { token: TOKEN, ...(lagMs === undefined ? {} : { listLagMs: lagMs }) })
      const own = { osf_access_token: TOKEN, ...server.settings }
      const entries = () => server.withDigest(manifest.content_sha3_256)
      return {
        adapter: osfAdapter(partsWith({ ...own, ...settings }, projectRoot)),
        manifest,
        server,
        requests: {
          find: 'GET /v2/users/me/nodes/',
          create: 'POST /v2/nodes/',
          read: 'GET /v2/nodes/',
          upload: 'PUT /v1/resources/',
          publish: 'PATCH /v2/nodes/'
        },
        entries: () => entries().length,
        published: () => entries().filter(({ attributes }) => attributes.public === true).length,
        files: () => (entries()[0]?.files ?? []).map(({ name, bytes, sha256 }) => ({ name, bytes, hash: sha256 }))
      }
    }
  }
]

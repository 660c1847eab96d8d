import { errorMessage } from '@svc/plugin-sdk'
import semver from 'semver'
import { updateErrors } from './errors.ts'
import { checkedUrl, failed, fetchText } from './guarded-fetch.ts'
import type { Asset, Credentials, Release, ReleaseSource } from './release.ts'
import type { Settings } from './settings.ts'

const MAX_LIST_BYTES = 16_777_216
const PAGE = 100

export type SourceSettings = Pick<
  Settings,
  | 'provider'
  | 'repo'
  | 'base_url'
  | 'version'
  | 'gitlab_host'
  | 'github_api_url'
  | 'github_token'
  | 'gitlab_token'
  | 'timeout_ms'
>

/** Returns the source of releases that the settings name. Throws `UPD_URL_REFUSED` and `UPD_VERSION_REQUIRED`. */
export function releaseSource(settings: SourceSettings): ReleaseSource {
  switch (settings.provider) {
    case 'github':
      return github(settings)
    case 'gitlab':
      return gitlab(settings)
    case 'http':
      return plainHttp(settings)
  }
}

function github({ repo, github_api_url, github_token, timeout_ms }: SourceSettings): ReleaseSource {
  const root = base(github_api_url)
  const credentials = credentialsFor(root, 'authorization', github_token && `token ${github_token}`)
  const headers = { accept: 'application/vnd.github+json' }
  return {
    description: `github:${repo}`,
    credentials,
    async list(tag, signal) {
      const path = tag === undefined ? `releases?per_page=${PAGE}` : `releases/tags/${encodeURIComponent(tag)}`
      const url = `${root}/repos/${repo}/${path}`
      const found = await readJson(url, { headers, credentials, timeoutMs: timeout_ms, signal })
      return listOf(found).flatMap(each => {
        if (each.draft === true) return []
        return release(each.tag_name, each.prerelease === true, listOf(each.assets), asset => ({
          name: asset.name,
          // The API's URL works for private repositories, too.
          url: asset.url ?? asset.browser_download_url,
          headers: { accept: 'application/octet-stream' }
        }))
      })
    },
    asset: fromList
  }
}

function gitlab({ repo, gitlab_host, gitlab_token, timeout_ms }: SourceSettings): ReleaseSource {
  const root = `${base(gitlab_host)}/api/v4/projects/${encodeURIComponent(repo)}`
  const credentials = credentialsFor(root, 'private-token', gitlab_token)
  return {
    description: `gitlab:${repo}`,
    credentials,
    async list(tag, signal) {
      const path = tag === undefined ? `releases?per_page=${PAGE}` : `releases/${encodeURIComponent(tag)}`
      const found = await readJson(`${root}/${path}`, { credentials, timeoutMs: timeout_ms, signal })
      return listOf(found).flatMap(each =>
        release(each.tag_name, each.upcoming_release === true, listOf((each.assets as Fields)?.links), asset => ({
          name: asset.name,
          url: asset.direct_asset_url ?? asset.url
        }))
      )
    },
    asset: fromList
  }
}

function plainHttp({ base_url, version }: SourceSettings): ReleaseSource {
  if (base_url === undefined || version === undefined)
    throw updateErrors.create(
      'UPD_VERSION_REQUIRED',
      `the provider http needs ${base_url === undefined ? 'a base URL' : 'a version'}`,
      { hint: 'pass --base-url and --version, or set SVC_UPGRADE_BASE_URL and SVC_UPGRADE_VERSION' }
    )
  const root = base(base_url)
  return {
    description: root,
    credentials: null,
    async list(tag = version) {
      return release(tag, false, null, () => ({}))
    },
    asset: ({ tag }, name) => ({ name, url: `${root}/download/${encodeURIComponent(tag)}/${encodeURIComponent(name)}` })
  }
}

function credentialsFor(root: string, header: string, value: string | undefined): Credentials | null {
  return value === undefined ? null : { origin: new URL(root).origin, headers: { [header]: value } }
}

function base(url: string): string {
  const { origin, pathname } = checkedUrl(url)
  return `${origin}${pathname}`.replace(/\/+$/, '')
}

function fromList({ assets }: Release, name: string): Asset | null {
  return assets?.find(each => each.name === name) ?? null
}

type Fields = Readonly<Record<string, unknown>>

/** Returns a list with the release; an empty one if its tag is not a version. */
function release(
  tag: unknown,
  marked: boolean,
  assets: readonly Fields[] | null,
  read: (asset: Fields) => Partial<Record<keyof Asset, unknown>>
): Release[] {
  const version = typeof tag === 'string' ? versionOf(tag) : null
  if (version === null) return []
  return [
    {
      tag: tag as string,
      version,
      prerelease: marked || semver.prerelease(version) !== null,
      assets:
        assets?.map(read).filter((each): each is Asset => {
          return typeof each.name === 'string' && typeof each.url === 'string'
        }) ?? null
    }
  ]
}

/** Returns the version of a tag such as `v1.2.3`; null if it has none. Such a tag is also safe as a file name. */
export function versionOf(tag: string): string | null {
  if (!/^v?\d[0-9A-Za-z.+-]{0,126}$/.test(tag)) return null
  return semver.valid(tag.replace(/^v/, ''))
}

function listOf(value: unknown): readonly Fields[] {
  const list = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value]
  return list.filter((each): each is Fields => typeof each === 'object' && each !== null)
}

async function readJson(url: string, options: Parameters<typeof fetchText>[2]): Promise<unknown> {
  const { text } = await fetchText(url, MAX_LIST_BYTES, options)
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw failed(checkedUrl(url), `the answer is not JSON: ${errorMessage(error)}`)
  }
}

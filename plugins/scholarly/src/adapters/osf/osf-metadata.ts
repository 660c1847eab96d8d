import type { PublicationManifest } from '@svc/contracts'
import { keywordsOf, unusable } from '../deposit/content.ts'
import { collapse, nameOf, workOf } from '../work.ts'

const MAX_TITLE_CHARS = 512

/**
 * Names of licences at OSF by SPDX id. Source: npm package @centerforopenscience/list-of-licenses 1.1.0, which OSF itself
 * loads.
 */
const LICENSES: ReadonlyMap<string, string> = new Map([
  ['mit', 'MIT License'],
  ['gpl-2.0-only', 'GNU General Public License (GPL) 2.0'],
  ['gpl-3.0-only', 'GNU General Public License (GPL) 3.0'],
  ['apache-2.0', 'Apache License 2.0'],
  ['bsd-2-clause', 'BSD 2-Clause "Simplified" License'],
  ['bsd-3-clause', 'BSD 3-Clause "New"/"Revised" License'],
  ['lgpl-2.1-only', 'GNU Lesser General Public License (LGPL) 2.1'],
  ['lgpl-3.0-only', 'GNU Lesser General Public License (LGPL) 3.0'],
  ['cc0-1.0', 'CC0 1.0 Universal'],
  ['cc-by-4.0', 'CC-By Attribution 4.0 International'],
  ['cc-by-nc-nd-4.0', 'CC-By Attribution-NonCommercial-NoDerivatives 4.0 International'],
  ['cc-by-sa-4.0', 'CC-By Attribution-ShareAlike 4.0 International'],
  ['artistic-2.0', 'Artistic License 2.0'],
  ['epl-1.0', 'Eclipse Public License 1.0'],
  ['mpl-2.0', 'Mozilla Public License 2.0'],
  ['afl-3.0', 'Academic Free License (AFL) 3.0']
])

/** Attributes of a new project. Throws `RemoteFailure` for content that OSF would refuse or change. */
export function osfAttributes(manifest: PublicationManifest): {
  readonly title: string
  readonly [more: string]: unknown
} {
  const { metadata, creators } = workOf(manifest)
  const title = collapse(manifest.title)
  if (title === '') throw unusable('title_empty', 'title: it is empty; OSF requires one')
  if (title.length > MAX_TITLE_CHARS)
    throw unusable('title_too_long', `title: it has ${title.length} characters; OSF accepts ${MAX_TITLE_CHARS}`)
  const names = creators.map(nameOf)
  // Contributors of OSF are accounts, so that the authors are named in the description.
  const authors = names.length === 0 ? '' : `Authors: ${names.join('; ')}`
  const description = [manifest.abstract_text?.trim() ?? '', authors].filter(part => part !== '')
  return {
    title,
    category: 'project',
    description: description.join('\n\n'),
    public: false,
    tags: [tagOf(manifest.content_sha3_256), ...keywordsOf(metadata)]
  }
}

/** Returns the tag by which a project is found again. */
export function tagOf(digest: string): string {
  return `svc-sha3-256-${digest}`
}

export interface OsfLicense {
  /** Name at OSF. */
  readonly name: string
  readonly year: string
  readonly holders: readonly string[]
}

/** Returns the licence of a publication; null if it has none. Throws `RemoteFailure` with code `license_unknown`. */
export function osfLicense(manifest: PublicationManifest): OsfLicense | null {
  const { metadata, creators, date } = workOf(manifest)
  const { license } = metadata
  if (typeof license !== 'string' || license.trim() === '') return null
  const id = license
    .trim()
    .toLowerCase()
    .replace(/^(l?gpl-\d\.\d)$/, '$1-only')
  const name = LICENSES.get(id)
  if (name === undefined)
    throw unusable('license_unknown', `license: OSF has no licence ${license.slice(0, 60)}; use one such as CC-BY-4.0`)
  return { name, year: date.slice(0, 4), holders: creators.map(nameOf) }
}

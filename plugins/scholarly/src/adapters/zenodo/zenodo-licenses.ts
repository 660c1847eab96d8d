import { unusable } from '../deposit/content.ts'

/**
 * SPDX ids of licences that Zenodo knows; its ids are the same in lower case. Source: legacy_to_rdm_map.json of
 * github.com/zenodo/zenodo-rdm. An unknown id would make Zenodo's server fail.
 */
const KNOWN = `
  0BSD AAL AFL-3.0 AGPL-3.0-only AGPL-3.0-or-later Apache-1.1 Apache-2.0 APSL-2.0 Artistic-1.0 Artistic-2.0
  BlueOak-1.0.0 BSD-1-Clause BSD-2-Clause BSD-2-Clause-Patent BSD-3-Clause BSD-3-Clause-Clear BSD-4-Clause BSL-1.0
  BUSL-1.1 CC-BY-1.0 CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0 CC-BY-NC-1.0 CC-BY-NC-2.0 CC-BY-NC-2.5 CC-BY-NC-3.0
  CC-BY-NC-4.0 CC-BY-NC-ND-1.0 CC-BY-NC-ND-2.0 CC-BY-NC-ND-2.5 CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0 CC-BY-NC-SA-1.0
  CC-BY-NC-SA-2.0 CC-BY-NC-SA-2.5 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0 CC-BY-ND-1.0 CC-BY-ND-2.0 CC-BY-ND-2.5 CC-BY-ND-3.0
  CC-BY-ND-4.0 CC-BY-SA-1.0 CC-BY-SA-2.0 CC-BY-SA-2.5 CC-BY-SA-3.0 CC-BY-SA-4.0 CC-PDDC CC0-1.0 CDDL-1.0 CDDL-1.1
  CDLA-Permissive-1.0 CDLA-Sharing-1.0 CECILL-2.0 CECILL-2.1 CECILL-B CECILL-C CERN-OHL-1.2 CERN-OHL-P-2.0
  CERN-OHL-S-2.0 CERN-OHL-W-2.0 CPAL-1.0 CPL-1.0 ECL-2.0 EFL-2.0 EPL-1.0 EPL-2.0 etalab-2.0 EUPL-1.0 EUPL-1.1 EUPL-1.2
  GFDL-1.1-only GFDL-1.1-or-later GFDL-1.2-only GFDL-1.2-or-later GFDL-1.3-only GFDL-1.3-or-later GPL-1.0-only
  GPL-1.0-or-later GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later ISC LGPL-2.0-only LGPL-2.0-or-later
  LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0-only LGPL-3.0-or-later LiLiQ-P-1.1 LPPL-1.3c MIT MIT-0 MPL-1.0 MPL-1.1
  MPL-2.0 MS-PL MS-RL MulanPSL-2.0 NCSA NIST-PD ODbL-1.0 ODC-By-1.0 OFL-1.1 OGL-Canada-2.0 OGL-UK-1.0 OGL-UK-2.0
  OGL-UK-3.0 OSL-3.0 PDDL-1.0 PHP-3.01 PostgreSQL PSF-2.0 Python-2.0 QPL-1.0 SSPL-1.0 Unlicense UPL-1.0 Vim W3C WTFPL
  X11 Zlib ZPL-2.1
`
const IDS = new Set(
  KNOWN.trim()
    .split(/\s+/)
    .map(id => id.toLowerCase())
)

/** Former SPDX ids such as `GPL-3.0` and `GPL-3.0+`. Zenodo takes `gpl-3.0` for version 2, so it is never sent. */
const FORMER = /^(a?gpl|lgpl|gfdl)-(\d\.\d)(\+?)$/

/** Returns Zenodo's id of a licence. Throws `RemoteFailure` with code `license_unknown`. */
export function zenodoLicense(spdx: string): string {
  const id = spdx.trim().toLowerCase()
  const former = FORMER.exec(id)
  const current = former === null ? id : `${former[1]}-${former[2]}-${former[3] === '+' ? 'or-later' : 'only'}`
  if (IDS.has(current)) return current
  throw unusable(
    'license_unknown',
    `license: Zenodo has no licence ${spdx.slice(0, 60)}; use an SPDX id such as CC-BY-4.0`
  )
}

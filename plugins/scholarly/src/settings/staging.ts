import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

/** Both spellings of a variable: that of all archives wins over that of Zenodo. */
const both = (name: string): string[] => [`SVC_SCHOLARLY_${name}`, `SVC_ZENODO_${name}`]

const flag = (name: string, description: string) =>
  t.boolean({ default: false, 'x-env': both(name), ...live, description })

/** Files of a submission, and what becomes of a deposit. */
export const stagingSettings = {
  staging_dir: t.optional(
    t.string({
      minLength: 1,
      'x-env': both('STAGING_DIR'),
      ...live,
      description: 'Folder with the files to upload, relative to the project; svc scholarly stage writes one.'
    })
  ),
  upload_allowlist: t.array(t.string({ minLength: 1, maxLength: 1_000 }), {
    default: [],
    'x-env': both('UPLOAD_ALLOWLIST'),
    ...live,
    description:
      'Files of the staging folder to upload, as relative paths; empty: those that svc scholarly stage writes.'
  }),
  verify_staging_checksums: flag(
    'VERIFY_STAGING_CHECKSUMS',
    'Whether staging_checksums.json must exist and match the files of the staging folder.'
  ),
  require_metadata_parity: flag(
    'REQUIRE_METADATA_PARITY',
    'Whether the title in zenodo.json of the staging folder must equal the title of the publication.'
  ),
  attach_manifest_body: flag(
    'ATTACH_MANIFEST_BODY',
    'Whether body.md of the publication is uploaded if there is no staging folder.'
  ),
  publish_deposition: flag('PUBLISH_DEPOSITION', 'Whether a deposit with at least one file is published.'),
  draft_only: flag('DRAFT_ONLY', 'Whether deposits stay drafts; overrides the settings that publish.'),
  publish_now: flag('PUBLISH_NOW', 'Whether the body is attached and the deposit published.')
}

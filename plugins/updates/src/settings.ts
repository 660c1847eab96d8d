import { type Infer, t } from '@svc/plugin-sdk'
import { PUBLIC_KEY } from './signature.ts'

const url = '^https?://[^\\s/?#@]+'

export const settings = t.object({
  provider: t.enum(['github', 'gitlab', 'http'], {
    default: 'github',
    'x-env': 'SVC_UPGRADE_PROVIDER',
    'x-reload': 'live',
    description: 'Where releases are: GitHub, GitLab, or files on an HTTP server.'
  }),
  repo: t.string({
    default: 'vox-foundation/vox',
    pattern: '^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$',
    'x-env': 'SVC_UPGRADE_REPO',
    'x-reload': 'live',
    description: 'Repository of the releases, as owner/name.'
  }),
  base_url: t.optional(
    t.string({
      pattern: url,
      'x-env': 'SVC_UPGRADE_BASE_URL',
      'x-reload': 'live',
      description: 'For http: URL above download/TAG/. Plain HTTP is only accepted for loopback.'
    })
  ),
  version: t.optional(
    t.string({
      minLength: 1,
      maxLength: 128,
      'x-env': 'SVC_UPGRADE_VERSION',
      'x-reload': 'live',
      description: 'Tag of the release, such as v1.2.3; required for http. Default: the newest one of the channel.'
    })
  ),
  channel: t.enum(['stable', 'next'], {
    default: 'stable',
    'x-reload': 'live',
    description: 'stable: releases only. next: prereleases too.'
  }),
  gitlab_host: t.string({
    default: 'https://gitlab.com',
    pattern: url,
    'x-env': 'SVC_UPGRADE_GITLAB_HOST',
    'x-reload': 'live',
    description: 'Root of the GitLab server.'
  }),
  github_api_url: t.string({
    default: 'https://api.github.com',
    pattern: url,
    'x-env': 'SVC_UPGRADE_GITHUB_API_URL',
    'x-reload': 'live',
    description: 'Root of the GitHub API.'
  }),
  github_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': ['GITHUB_TOKEN', 'GH_TOKEN', 'VOX_GITHUB_TOKEN'],
      description: 'Token for GitHub, for private repositories and a higher rate limit.'
    })
  ),
  gitlab_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': ['GITLAB_TOKEN', 'VOX_GITLAB_TOKEN'],
      description: 'Token for GitLab.'
    })
  ),
  public_key: t.optional(
    t.string({
      pattern: PUBLIC_KEY,
      'x-guards': true,
      description:
        'Ed25519 public key of the publisher, hexadecimal or base64. If set, only signed releases are installed.'
    })
  ),
  home: t.string({
    default: '~/.vox/toolchain',
    minLength: 1,
    description: 'Folder of the installed versions. A leading ~ is the home folder of the user.'
  }),
  keep_versions: t.integer({
    default: 3,
    minimum: 2,
    maximum: 50,
    description: 'Installed versions that are kept, the current one included.'
  }),
  sidecar: t.boolean({
    default: true,
    description: 'Whether the gateway sidecar of a release is installed too, if the release has one for this machine.'
  }),
  cargo: t.string({
    default: 'cargo',
    minLength: 1,
    'x-env': 'CARGO',
    description: 'Program that builds a source checkout with a Cargo.toml and without a package.json.'
  }),
  timeout_ms: t.integer({
    default: 30_000,
    minimum: 10,
    maximum: 600_000,
    description: 'Milliseconds to wait for an answer, or for more data of a download.'
  }),
  max_download_bytes: t.integer({
    default: 1_073_741_824,
    minimum: 1_024,
    maximum: 17_179_869_184,
    description: 'Maximum size of a downloaded archive. Unpacked, it may be four times as large.'
  }),
  check_hours: t.integer({
    default: 0,
    minimum: 0,
    maximum: 8_760,
    description: 'Hours between checks for a new version while svc serves; 0: only by command.'
  })
})

export type Settings = Infer<typeof settings>

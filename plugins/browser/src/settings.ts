import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  executable: t.optional(
    t.string({
      minLength: 1,
      description:
        'Chromium, Chrome or another browser built on it: a path relative to the project, or the name of a program. Default: the first one found on the PATH.'
    })
  ),
  sandbox: t.boolean({
    default: true,
    description:
      'Whether pages run in the sandbox of the browser, which does not work as root and in most containers. Without it, open only trusted pages.'
  }),
  file_urls: t.boolean({
    default: false,
    'x-reload': 'live',
    description: 'Whether file: URLs may be opened, which gives access to every file that this process can read.'
  }),
  max_pages: t.integer({
    default: 8,
    minimum: 1,
    maximum: 256,
    'x-reload': 'live',
    description: 'Maximum number of open pages.'
  }),
  timeout_ms: t.integer({
    default: 30_000,
    minimum: 100,
    maximum: 600_000,
    'x-reload': 'live',
    description:
      'Time limit for the start of the browser, the load of a page and the readiness of an element, in milliseconds.'
  }),
  idle_ms: t.integer({
    default: 300_000,
    minimum: 1_000,
    maximum: 86_400_000,
    'x-reload': 'live',
    description: 'Idle time after which a page is closed, and the browser after its last page, in milliseconds.'
  }),
  context_chars: t.integer({
    default: 24_000,
    minimum: 1,
    'x-env': 'SVC_BROWSER_LLM_CONTEXT_CHARS',
    'x-reload': 'live',
    description: 'Maximum characters of the text or the HTML of a page; the rest is cut off.'
  })
})

export type Settings = Infer<typeof settings>

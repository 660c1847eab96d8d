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
      'Whether the browser confines its pages. It cannot where it runs as root or in most containers, and says so; only open pages that you trust without it.'
  }),
  file_urls: t.boolean({
    default: false,
    'x-reload': 'live',
    description: 'Whether pages of the file system (file:) may be opened: every file that this process can read.'
  }),
  max_pages: t.integer({
    default: 8,
    minimum: 1,
    maximum: 256,
    'x-reload': 'live',
    description: 'Pages that may be open at a time.'
  }),
  timeout_ms: t.integer({
    default: 30_000,
    minimum: 100,
    maximum: 600_000,
    'x-reload': 'live',
    description:
      'Milliseconds that the browser may take to start, a page to load, and an element to be there and ready for use.'
  }),
  idle_ms: t.integer({
    default: 300_000,
    minimum: 1_000,
    maximum: 86_400_000,
    'x-reload': 'live',
    description: 'Milliseconds without a call after which a page is closed, and the browser after its last page.'
  }),
  context_chars: t.integer({
    default: 24_000,
    minimum: 1,
    'x-env': 'SVC_BROWSER_LLM_CONTEXT_CHARS',
    'x-reload': 'live',
    description: 'Characters of the text or the markup of a page that are given; the rest is cut off.'
  })
})

export type Settings = Infer<typeof settings>

import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  read_only: t.boolean({
    default: false,
    'x-guards': true,
    description: 'Whether the console refuses every operation that changes something.'
  }),
  public_url: t.optional(
    t.string({
      minLength: 1,
      maxLength: 2_048,
      description:
        'Address of the console behind a proxy with TLS, such as https://svc.example.org. Its host must be in allowed_hosts of [plugins.http].'
    })
  ),
  open: t.enum(['no', 'browser', 'print', 'json'], {
    default: 'no',
    description:
      'What happens with an address that signs in, once the console is served: opened in the browser, printed, or printed as JSON. svc up sets it.'
  }),
  session_idle_hours: t.integer({
    default: 12,
    minimum: 1,
    maximum: 168,
    description: 'Hours without a request after which a session ends.'
  }),
  session_max_hours: t.integer({
    default: 168,
    minimum: 1,
    maximum: 720,
    description: 'Hours after sign-in after which a session ends in any case.'
  })
})

export type OpenSetting = Infer<typeof settings>['open']

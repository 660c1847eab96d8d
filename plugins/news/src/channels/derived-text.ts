import { type ChannelText, RemoteFailure } from '@svc/contracts'
import { type CutOptions, cutText } from '../text/cut.ts'
import { fits, lengthOf, type Meter } from '../text/meters.ts'

/** Returns a summary and, in a paragraph below it, its link, within the limits. The link is never shortened. */
export function summaryWithLink(
  summary: string,
  link: string,
  meters: readonly Meter[],
  options: Omit<CutOptions, 'meters'> = {}
): string {
  const end = `\n\n${link}`
  const left = meters.map(meter => ({ ...meter, limit: meter.limit - lengthOf(end, meter) }))
  if (summary === '' || left.some(({ limit }) => limit < 1)) return link
  return `${cutText(summary, { ...options, meters: left })}${end}`
}

/**
 * Returns a text. If it exceeds a limit, since its link, a hashtag or a mention is not shortened, throws
 * {@link RemoteFailure} with the code `text_limit_too_small`.
 */
export function fitting(service: string, text: string, meters: readonly Meter[], advice: string): string {
  const exceeded = meters.find(meter => !fits(text, [meter]))
  if (exceeded === undefined && text !== '') return text
  const { limit, unit } = exceeded ?? (meters[0] as Meter)
  throw new RemoteFailure(
    `${service}: the text, or a link, hashtag or mention in it, does not fit into ${limit} ${unit}; ${advice}`,
    {
      failureClass: 'config',
      code: 'text_limit_too_small'
    }
  )
}

export function channelText(label: string, text: string, meter: Meter): ChannelText {
  return { label, text, length: lengthOf(text, meter), limit: meter.limit, unit: meter.unit }
}

import { AUTO_MODEL } from '../registry/bootstrap.ts'

export interface OpenRouterSettings {
  readonly http_referer?: string
  readonly app_title?: string
  readonly route_hint?: string
  readonly cost_preference: string
}

const ROUTES: Readonly<Record<string, 'price' | 'quality' | 'fallback'>> = {
  price: 'price',
  economy: 'price',
  cheap: 'price',
  quality: 'quality',
  performance: 'quality',
  best: 'quality',
  fallback: 'fallback',
  resilience: 'fallback'
}

/** Returns the headers of requests to OpenRouter; those to its automatic model name a preference. */
export function openRouterHeaders(settings: OpenRouterSettings, model: string): Record<string, string> {
  const { http_referer, app_title, route_hint, cost_preference } = settings
  const preferred = ['performance', 'quality'].includes(cost_preference.toLowerCase()) ? 'quality' : 'price'
  const route = (route_hint === undefined ? undefined : ROUTES[route_hint]) ?? preferred
  return {
    ...(http_referer === undefined ? {} : { 'HTTP-Referer': http_referer }),
    ...(app_title === undefined ? {} : { 'X-Title': app_title }),
    ...(model === AUTO_MODEL ? { 'X-OpenRouter-Provider-Preferences': JSON.stringify({ route }) } : {})
  }
}

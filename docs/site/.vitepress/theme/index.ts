import { withBase } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import './style.css';

/** The theme's own page for an address that is not there has no `main`, and a link that says two things. */
const notFound = () =>
  h('main', { class: 'vp-doc not-found' }, [
    h('h1', 'Not found'),
    h('p', ['There is no such page. ', h('a', { href: withBase('/') }, 'Home page')]),
  ]);

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': notFound }),
};

(* The verifiers driven by plans commute with any homomorphism of number types too, and so do their checks. *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Schemes Homomorphism Plans Transport Univer_transport K_seq.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* what makes a rule's block law exact, as an executable check: the three rules for greedy drafting need distinct siblings *)
Section Checked.
Variables (F : ops) (V : eqType) (vs : seq V) (p q : seq V -> V -> F) (n : scheme_name V).
Definition rule_checked (r : plan_rule F V) (k : nat) (t : slot) : bool :=
  match r with
  | Univer | Univer_lookahead | Greedy_transport => if n is Fixed tree then uniq tree else true
  | Univer_transport plans => everywhere vs (fun t s =>
      table_checked vs (candidates vs (scheme_of vs q n) t s (size (below t)) [::]) (p s) (plans s)) k t [::]
  | K_seq rho => everywhere vs (fun t s => let k := size (below t) in rho_checked vs (p s) (q s) (rho k s) k) k t [::]
  end.
End Checked.

Section Plans.
Variables (F G : ops) (h : F -> G).
Hypotheses (h0 : h (o0 F) = o0 G) (h1 : h (o1 F) = o1 G).
Hypothesis hadd : forall a b, h (oadd a b) = oadd (h a) (h b).
Hypothesis hsub : forall a b, h (osub a b) = osub (h a) (h b).
Hypothesis hmul : forall a b, h (omul a b) = omul (h a) (h b).
Hypothesis hdiv : forall a b, h (odiv a b) = odiv (h a) (h b).
Hypothesis hmin : forall a b, h (omin a b) = omin (h a) (h b).
Hypothesis hz : forall a, oz (h a) = oz a.
Local Notation dmap := (dmap h).
Local Notation osame := (osame h).
Local Notation h_ole := (h_ole hsub hmin hz).
Variables (V : eqType) (vs : seq V).

Lemma h_osum T (l : seq T) (f : T -> F) f' : (forall x, f' x = h (f x)) -> osum [seq f' x | x <- l] = h (osum [seq f x | x <- l]).
Proof. by move=> ff; elim: l => //= x l ->; rewrite hadd ff. Qed.
Lemma h_divz a b : divz (h a) (h b) = h (divz a b).
Proof. by rewrite /divz hz; case: ifP; rewrite ?h0 ?hdiv. Qed.

Definition hm (l : seq (V * F)) : seq (V * G) := [seq (x.1, h x.2) | x <- l].
Definition nsame (nd : node F V) (nd' : node G V) :=
  [/\ tuples nd' = dmap (tuples nd), forall a c, masses nd' (h a) c = hm (masses nd a c) & forall a y, owed nd' (h a) y = h (owed nd a y)].
Fixpoint usame (u : utree F V) (u' : utree G V) : Prop :=
  match u, u' with
  | ULeaf, ULeaf => True
  | UNode nd c, UNode nd' c' => nsame nd nd' /\ forall l y, usame (c l y) (c' l y)
  | _, _ => False
  end.
Lemma planned_same rule rule' n t s : (forall t s, nsame (rule t s) (rule' t s)) -> usame (planned rule n t s) (planned rule' n t s).
Proof. by move=> rr; elim: n t s => //= n IH t s; case: (below t) => //= c l; split=> // *; apply: IH. Qed.

Variables (p : seq V -> V -> F) (p' : seq V -> V -> G).
Hypothesis ep : forall s x, p' s x = h (p s x).

Lemma h_bonus (w : V -> F) w' : (forall y, w' y = h (w y)) -> bonus vs w' = dmap (bonus vs w).
Proof.
move=> e; rewrite /bonus (h_osum vs e); apply/esym.
rewrite -(@dmap_draw _ _ h _ vs (fun y => odiv (w y) (osum [seq w y | y <- vs]))
  (fun y => odiv (w' y) (h (osum [seq w y | y <- vs])))) => [|y]; last by rewrite /= hdiv e.
by apply: (dmap_bind hmul hz) => y; rewrite (dmap_ret h1).
Qed.
Lemma h_stop a (w : V -> F) w' : (forall y, w' y = h (w y)) -> stop vs (h a) w' = dmap (stop vs a w).
Proof.
move=> e; rewrite /stop /stay (h_osum vs e) -h1 -hsub -hadd h_divz; apply/esym; rewrite -(dmap_flip h1 hsub).
apply: (dmap_bind hmul hz) => -[]; last by rewrite (dmap_ret h1).
by rewrite (h_bonus e); apply/esym; apply: (dmap_bind hmul hz) => t; rewrite (dmap_ret h1).
Qed.
Lemma h_decide below below' last last' l left : (forall y b, below' y (h b) = dmap (below y b)) -> last' = dmap last ->
  decide below' last' (hm l) (h left) = dmap (decide below last l left).
Proof.
move=> eb el; elim: l left => [|x l IH] left //=; rewrite h_divz eb; apply/esym; apply: (dmap_bind hmul hz) => -[b|].
  by rewrite (dmap_ret h1).
by rewrite -hsub IH.
Qed.
Lemma h_two_phase u u' a s : usame u u' -> two_phase vs p' u' (h a) s = dmap (two_phase vs p u a s).
Proof.
elim: u u' a s => [|nd c IH] [|nd' c'] a s //= => [_|[[et em eo] cc]].
  by apply: h_stop => y; rewrite hmul ep.
rewrite et; apply/esym; apply: (dmap_bind hmul hz) => l; rewrite em -h1; apply: h_decide => [y b|]; first exact: IH.
exact: h_stop.
Qed.
Lemma h_choose l left : choose (hm l) (h left) = dmap (choose l left).
Proof.
elim: l left => [|x l IH] left /=; first by rewrite /Homomorphism.dmap /= h1.
rewrite h_divz; apply/esym; rewrite -(dmap_flip h1 hsub); apply: (dmap_bind hmul hz) => -[]; first by rewrite (dmap_ret h1).
by rewrite -hsub IH.
Qed.
Lemma h_token_level u u' s : usame u u' -> token_level vs p' u' s = dmap (token_level vs p u s).
Proof.
elim: u u' s => [|nd c IH] [|nd' c'] s //= => [_|[[et em eo] cc]]; apply/esym.
  by rewrite -(@dmap_draw _ _ h _ vs (p s) (p' s) (ep s)); apply: (dmap_bind hmul hz) => x; rewrite (dmap_ret h1).
rewrite et; apply: (dmap_bind hmul hz) => l; rewrite -h1 em h_choose; apply/esym; apply: (dmap_bind hmul hz) => -[y|].
  by rewrite (IH _ _ _ _ (cc l y)); apply/esym; apply: (dmap_bind hmul hz) => t; rewrite (dmap_ret h1).
by apply: h_bonus => y; rewrite eo.
Qed.

(* ---- the nodes *)
Lemma h_excess' a (ms : V -> F) ms' s y : (forall y, ms' y = h (ms y)) -> excess (h a) (p' s) ms' y = h (excess a (p s) ms y).
Proof. by move=> e; apply: (h_excess hsub hmul hmin) => // z; rewrite /= ?ep ?e. Qed.
Lemma h_acc' a (ms : V -> F) ms' s y : (forall y, ms' y = h (ms y)) -> acc (h a) (p' s) ms' y = h (acc a (p s) ms y).
Proof. by move=> e; apply: (h_acc h1 hmul hdiv hmin hz) => // z; rewrite /= ?ep ?e. Qed.
Lemma h_greedy_node s H r r' : osame r r' -> nsame (greedy_node vs (p s) H r) (greedy_node vs (p' s) H r').
Proof.
case: r r' => [ms|] [ms'|] //= e; split=> [|a c|a y] /=.
- by rewrite /greedy_tuples /Homomorphism.dmap -map_comp; apply: eq_map => b /=; rewrite e.
- case: c => [|x l] //=; rewrite /hm map_rcons /= (h_acc' _ _ _ e) -map_comp; congr (rcons _ _); apply: eq_map => y /=.
  rewrite ep -h1 -hsub -!hmul -h_divz; congr (_, divz _ _); apply: h_osum => z; by rewrite e hsub hmin hmul ep.
- by case: ifP; rewrite ?h0 ?(h_excess' _ _ _ e).
- by rewrite /Homomorphism.dmap /= h1.
- by rewrite /hm -map_comp; apply: eq_map => y /=; rewrite hmul ep.
by case: ifP; rewrite ?h0 ?hmul ?ep.
Qed.

Variables (q : seq V -> V -> F) (q' : seq V -> V -> G).
Hypothesis eq : forall s x, q' s x = h (q s x).
Variable n : scheme_name V.

Lemma h_hubs t s : (hubs vs q' n t s).1 = (hubs vs q n t s).1 /\ osame (hubs vs q n t s).2 (hubs vs q' n t s).2.
Proof.
have r := h_ranked hsub hmin hz vs (eq s); case: n => [||||tree] /=; rewrite ?r; split=> //.
by move=> x; apply: eq.
by move=> x; apply: eq.
exact: (h_without h0 hadd hdiv hz vs _ (eq s)).
Qed.
Lemma h_univer_node t s : nsame (univer_node vs p q n t s) (univer_node vs p' q' n t s).
Proof.
rewrite /univer_node; case: (hubs vs q n t s) (hubs vs q' n t s) (h_hubs t s) => [H r] [H' r'] /= [-> rr].
exact: h_greedy_node.
Qed.
Lemma h_alpha t s a : alpha vs p' q' n t s (h a) = h (alpha vs p q n t s a).
Proof.
rewrite /alpha; case: (below t) => [|c l]; first by rewrite h0.
case: (hubs vs q n t s) (hubs vs q' n t s) (h_hubs t s) => [H r] [H' r'] /= [-> rr].
rewrite /best_kept hadd; congr (oadd _ _); first by apply: h_osum => y; rewrite hmul ep.
case: r r' rr => [ms|] [ms'|] //= e; apply: h_osum => y; by case: ifP; rewrite ?h0 ?hmin ?hmul ?ep ?e.
Qed.
Lemma h_worth value value' l left : (forall y a, value' y (h a) = h (value y a)) -> worth value' (hm l) (h left) = h (worth value l left).
Proof. by move=> e; elim: l left => [|x l IH] left /=; rewrite ?h0 // h_divz e hadd hmul -hsub IH. Qed.
Lemma picks_map T U (f : T -> U) l : picks (map f l) = [seq (f y.1, map f y.2) | y <- picks l].
Proof. by elim: l => //= x l ->; rewrite -!map_comp. Qed.
Lemma orders_map T U (f : T -> U) k l : orders k (map f l) = [seq map f o | o <- orders k l].
Proof.
elim: k l => [|k IH] l //=; rewrite picks_map -map_comp map_flatten -map_comp; congr flatten; apply: eq_map => y /=.
by rewrite IH -!map_comp.
Qed.
Lemma h_best T U (f : T -> U) value value' x l : (forall o, value' (f o) = h (value o)) ->
  best value' (f x) (map f l) = f (best value x l).
Proof. by move=> e; rewrite /best; elim: l x => //= y l IH x; rewrite !e h_ole -IH; case: ifP. Qed.
Lemma h_lookahead_node t s : nsame (lookahead_node vs p q n t s) (lookahead_node vs p' q' n t s).
Proof.
have [et em eo] := h_univer_node t s; split=> // a c; rewrite [LHS]/= em [size _]size_map orders_map.
apply: h_best => o; rewrite -h1; apply: h_worth => y b; exact: h_alpha.
Qed.

Definition htable (l : table F V) : table G V := [seq (h x.1, [seq (e.1, h e.2) | e <- x.2]) | x <- l].
Lemma h_looked_up l a S y : looked_up (htable l) (h a) S y = h (looked_up l a S y).
Proof.
rewrite /looked_up -(h_osum _ (f' := fun e => if e.1 == (S, y) then h e.2 else o0 G)); last by move=> e; case: ifP; rewrite ?h0.
have -> : flatten [seq (if oz (osub (h a) x.1) then x.2 else [::]) | x <- htable l]
  = [seq (e.1, h e.2) | e <- flatten [seq (if oz (osub a x.1) then x.2 else [::]) | x <- l]].
  rewrite map_flatten -!map_comp; congr flatten; apply: eq_map => x /=; by rewrite -hsub hz; case: ifP.
by rewrite -map_comp.
Qed.
Lemma h_sets D : sets vs (dmap D) = sets vs D.
Proof. by rewrite /sets /Homomorphism.dmap -map_comp. Qed.
Lemma h_set_mass D S : set_mass vs (dmap D) S = h (set_mass vs D S).
Proof. by rewrite /set_mass /Homomorphism.dmap -map_comp; apply: h_osum => w /=; case: ifP; rewrite ?h0. Qed.
Lemma h_candidates t s k e :
  candidates vs (scheme_of vs q' n) t s k e = dmap (candidates vs (scheme_of vs q n) t s k e).
Proof.
elim: k e => [|k IH] e /=; first by rewrite /Homomorphism.dmap /= h1.
have := h_scheme h0 h1 hadd hsub hdiv hmin hz vs eq n t s e.
case: (scheme_of vs q n t s e) (scheme_of vs q' n t s e) => [r|] [r'|] //= rr; last by rewrite /Homomorphism.dmap /= h1.
by rewrite -(dmap_draw vs rr); apply/esym; apply: (dmap_bind hmul hz) => x; rewrite IH.
Qed.
Lemma h_eldest m m' seen c : (forall y, m' y = h (m y)) -> eldest m' seen c = hm (eldest m seen c).
Proof. by move=> e; elim: c seen => //= x c IH seen; rewrite IH e; case: ifP; rewrite ?h0. Qed.
Lemma h_transport_node plans t s : nsame (transport_node vs p q plans n t s) (transport_node vs p' q' (htable \o plans) n t s).
Proof.
split=> [|a c|a y]; rewrite /= h_candidates //.
  by apply: h_eldest => y; rewrite h_looked_up h_set_mass h_divz.
by rewrite hsub hmul ep h_sets; congr (osub _ _); apply: h_osum => S; rewrite h_looked_up.
Qed.

Section K_seq.
Variables (s : seq V) (rho : F).
Lemma h_kept x : kept (p' s) (q' s) (h rho) x = h (kept (p s) (q s) rho x).
Proof. by rewrite /kept hmin hdiv ep eq. Qed.
Lemma h_beta : beta vs (p' s) (q' s) (h rho) = h (beta vs (p s) (q s) rho).
Proof. exact/h_osum/h_kept. Qed.
Lemma h_power k : power vs (p' s) (q' s) (h rho) k = h (power vs (p s) (q s) rho k).
Proof. by elim: k => [|k IH] /=; rewrite ?h1 // IH hmul hsub h1 h_beta. Qed.
Lemma h_geometric k : geometric vs (p' s) (q' s) (h rho) k = h (geometric vs (p s) (q s) rho k).
Proof. by elim: k => [|k IH] /=; rewrite ?h0 // IH hadd h_power. Qed.
Lemma h_rate x : rate (p' s) (q' s) (h rho) x = h (rate (p s) (q s) rho x).
Proof. by rewrite /rate eq hz; case: ifP; rewrite ?h1 // hdiv h_kept. Qed.
Lemma h_tested c left : tested (p' s) (q' s) (h rho) c (h left) = hm (tested (p s) (q s) rho c left).
Proof. by elim: c left => //= x c IH left; rewrite h_rate -h1 -hsub -!hmul IH. Qed.
Lemma h_iid k : iid vs (q' s) k = dmap (iid vs (q s) k).
Proof.
elim: k => [|k IH] /=; first by rewrite /Homomorphism.dmap /= h1.
rewrite IH; apply/esym; rewrite -(@dmap_draw _ _ h _ vs (q s) (q' s) (eq s)); apply: (dmap_bind hmul hz) => x.
by apply/esym; apply: (dmap_bind hmul hz) => c; rewrite (dmap_ret h1).
Qed.
Lemma h_k_seq_node k : nsame (k_seq_node vs (p s) (q s) rho k) (k_seq_node vs (p' s) (q' s) (h rho) k).
Proof.
split=> [|a c|a y] /=; [exact: h_iid | by rewrite -h1 h_tested |].
by rewrite hsub hmul ep h_kept h_geometric.
Qed.
Lemma h_rho_checked k : rho_checked vs (p' s) (q' s) (h rho) k = rho_checked vs (p s) (q s) rho k.
Proof. by rewrite /rho_checked -h0 -h1 h_power h_beta -hsub -hmul !h_ole. Qed.
End K_seq.

Definition hrule (r : plan_rule F V) : plan_rule G V :=
  match r with
  | Univer => @Univer G V | Univer_lookahead => @Univer_lookahead G V | Greedy_transport => @Greedy_transport G V
  | Univer_transport plans => Univer_transport (htable \o plans)
  | K_seq rho => K_seq (fun k s => h (rho k s))
  end.
Lemma h_node_of r t s : nsame (node_of vs p q r n t s) (node_of vs p' q' (hrule r) n t s).
Proof.
case: r => [||plans||rho] /=; [exact: h_univer_node|exact: h_lookahead_node|exact: h_transport_node|exact: h_univer_node|].
exact: h_k_seq_node.
Qed.
Theorem h_plan_law r k t : plan_law vs p' q' (hrule r) n k t = dmap (plan_law vs p q r n k t).
Proof.
have u := planned_same k t [::] (h_node_of r).
have two : emitted (two_phase vs p' (planned (node_of vs p' q' (hrule r) n) k t [::]) (o1 G) [::])
  = dmap (emitted (two_phase vs p (planned (node_of vs p q r n) k t [::]) (o1 F) [::])).
  by rewrite -h1 (h_two_phase _ _ u) (h_emitted h1 hmul hz).
by case: r u two => [||plans||rho] u two //; apply: h_token_level.
Qed.

(* the check of a table of plans *)
Lemma h_certified D (pt : V -> F) pt' l a (A : seq V) : (forall y, pt' y = h (pt y)) ->
  certified vs (sets vs (dmap D)) (set_mass vs (dmap D)) (fun y => omul (h a) (pt' y)) (looked_up (htable l) (h a))
    (fun S => if all (fun y => y \in A) S then o0 G else o1 G) (fun y => if y \in A then o1 G else o0 G)
  = certified vs (sets vs D) (set_mass vs D) (fun y => omul a (pt y)) (looked_up l a)
    (fun S => if all (fun y => y \in A) S then o0 F else o1 F) (fun y => if y \in A then o1 F else o0 F).
Proof.
move=> e; rewrite h_sets /certified /plan_ok /prices_ok /price /value /row_sum /col_sum.
have row S : osum [seq looked_up (htable l) (h a) S y | y <- vs] = h (osum [seq looked_up l a S y | y <- vs]).
  by apply: h_osum => y; rewrite h_looked_up.
have u (b : bool) : (if b then o0 G else o1 G) = h (if b then o0 F else o1 F) by case: b; rewrite ?h0 ?h1.
have v (b : bool) : (if b then o1 G else o0 G) = h (if b then o1 F else o0 F) by case: b; rewrite ?h0 ?h1.
congr [&& _ && _, _ && _ & _].
- apply: eq_all => S; rewrite row h_set_mass h_ole; congr (_ && _); apply: eq_all => y.
  by rewrite h_looked_up -h0 h_ole hz.
- apply: eq_all => y; rewrite e -hmul -[RHS]h_ole; congr ole; apply: h_osum => S; exact: h_looked_up.
- apply: eq_all => S; rewrite u -{1}h0 h_ole; congr (_ && _); apply: eq_all => y.
  by rewrite v -hadd -h1 h_ole.
- by apply: eq_all => y; rewrite v -{1}h0 h_ole.
rewrite -[RHS]h_ole hadd; congr (ole (oadd _ _) _); apply: h_osum => z.
- by rewrite u h_set_mass hmul.
- by rewrite v e !hmul.
exact: row.
Qed.
Lemma h_table_checked D (pt : V -> F) pt' l : (forall y, pt' y = h (pt y)) ->
  table_checked vs (dmap D) pt' (htable l) = table_checked vs D pt l.
Proof.
move=> e; rewrite /table_checked /htable all_map; apply: eq_all => x /=; apply: eq_has => A.
exact: (h_certified _ _ _ _ e).
Qed.
Lemma h_everywhere (ok ok' : slot -> seq V -> bool) k t s : (forall t s, ok' t s = ok t s) -> everywhere vs ok' k t s = everywhere vs ok k t s.
Proof.
move=> e; elim: k t s => //= k IH t s; rewrite e; congr (_ || _ && _).
by apply: eq_all => c; apply: eq_all => y; apply: IH.
Qed.
Theorem h_rule_checked r k t : rule_checked vs p' q' n (hrule r) k t = rule_checked vs p q n r k t.
Proof.
case: r => [||plans||rho] //=; apply: h_everywhere => t' s; last exact: h_rho_checked.
by rewrite h_candidates; apply: h_table_checked.
Qed.
End Plans.
